package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/control"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/naming/snapshot"
	"github.com/rollcall-go/rollcall/server/probe"
	"github.com/rollcall-go/rollcall/server/projection"
	"github.com/rollcall-go/rollcall/server/push"
	"github.com/rollcall-go/rollcall/server/state"
)

// persistence is what outlives the process, and what follows from it: it opens
// the data directory when the application starts, brings what is in it to the
// store, and closes it when nobody asks any more.
type persistence struct {
	p          Properties
	store      *naming.Store
	state      *state.State
	projection *projection.Projection
	discarder  *projection.Discarder
	switches   *naming.Switches
	logger     *slog.Logger
	registerer prometheus.Registerer

	node      atomic.Pointer[consensus.Node] // nil until it is open
	loaded    atomic.Bool
	snapshots *snapshot.Snapshotter // nil in memory
	prober    *probe.Prober
	probes    *projection.Probes
}

type persistenceParams struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Properties Properties
	Store      *naming.Store
	Switches   *naming.Switches
	State      *state.State
	Discarder  *projection.Discarder
	// Push is only to be there before, so that it is closed when the data cannot be
	// opened.
	Push       *push.Server
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func newPersistence(p persistenceParams) *persistence {
	x := &persistence{
		p: p.Properties, store: p.Store, state: p.State, switches: p.Switches,
		projection: projection.New(p.Store, p.Switches, p.Logger),
		discarder:  p.Discarder, logger: p.Logger, registerer: p.Registerer,
	}
	p.Lifecycle.Append(fx.Hook{OnStart: x.start, OnStop: x.stop})
	return x
}

// start opens the data directory and loads what is there. When it fails nothing
// is left open.
func (x *persistence) start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, x.stop(ctx))
		}
	}()
	node, err := consensus.Open(ctx, consensus.Options{
		Dir: x.dir(), FSM: x.state, Logger: x.logger, Registerer: x.registerer,
	})
	if err != nil {
		return fmt.Errorf("open the data directory: %w", err)
	}
	x.node.Store(node)
	x.state.OnApply(x.projection.Apply)
	if dir := x.dir(); dir != "" {
		x.snapshots, err = snapshot.Open(snapshot.Options{
			Store: x.store, Path: filepath.Join(dir, control.EphemeralFile), Period: x.p.Storage.SnapshotPeriod,
			Logger: x.logger, Registerer: x.registerer,
		})
		if err != nil {
			return err
		}
	}
	x.prober, err = probe.New(probe.Options{
		Workers: x.p.Probe.Workers, Params: projection.ProbeParams(x.switches), Logger: x.logger, Registerer: x.registerer,
	})
	if err != nil {
		return err
	}
	x.discarder.Run(x.projection, node)
	x.probes = projection.NewProbes(x.store, x.prober, x.logger)
	x.loaded.Store(true)
	return nil
}

// stop closes everything in the order in which it uses each other, whether it
// was opened or not. The web server has stopped before.
func (x *persistence) stop(context.Context) error {
	var errs []error
	if x.probes != nil {
		errs = append(errs, x.probes.Close())
	}
	if x.prober != nil {
		errs = append(errs, x.prober.Close())
	}
	errs = append(errs, x.discarder.Close(), x.store.Close())
	if x.snapshots != nil {
		errs = append(errs, x.snapshots.Close())
	}
	if node := x.node.Load(); node != nil {
		errs = append(errs, node.Close())
	}
	return errors.Join(errs...)
}

// dir is the data directory, "" for memory.
func (x *persistence) dir() string {
	if x.p.Storage.InMemory {
		return ""
	}
	return x.p.Storage.Dir
}

// Propose implements [state.Proposer]: by the node, once it is open.
func (x *persistence) Propose(ctx context.Context, command []byte) (any, error) {
	node := x.node.Load()
	if node == nil {
		return nil, fmt.Errorf("%w: the data directory is not open yet", consensus.ErrUnavailable)
	}
	return node.Propose(ctx, command)
}

// missing says what is not loaded yet.
func (x *persistence) missing() []string {
	if x.loaded.Load() {
		return nil
	}
	return []string{"the data directory is being loaded"}
}

// limited says why persistent data cannot be changed, "" while it can. Instances
// that beat do not need that.
func (x *persistence) limited() string {
	node := x.node.Load()
	if node == nil {
		return ""
	}
	status := node.Status()
	if err := status.Err; err != nil {
		return "persistent data cannot be changed until the server is started again: " + err.Error()
	}
	if err := status.Waiting; err != nil {
		return "persistent data cannot be changed until it can be written: " + err.Error()
	}
	if status.Leader == "" {
		return "persistent data cannot be changed: there is no leader"
	}
	return ""
}
