package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/control"
)

// serveControl answers on the socket in the data directory while the data is
// open. Without it, the data can be administered while the server does not run.
func serveControl(lc fx.Lifecycle, x *persistence, logger *slog.Logger) {
	var socket *control.Server
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error {
			if x.dir() == "" {
				return nil
			}
			var err error
			socket, err = control.Serve(control.Options{Dir: x.dir(), Proposer: x, Backup: x.backup, Logger: logger})
			if err != nil {
				logger.Warn("backups and users cannot be made while the server runs", "error", err)
			}
			return nil
		},
		OnStop: func(context.Context) error {
			if socket == nil {
				return nil
			}
			return socket.Close()
		},
	})
}

// backup writes all persistent data.
func (x *persistence) backup(ctx context.Context, w io.Writer) error {
	node := x.node.Load()
	if node == nil {
		return fmt.Errorf("%w: the data directory is not open yet", consensus.ErrUnavailable)
	}
	return node.Backup(ctx, w)
}
