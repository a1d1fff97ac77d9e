package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/rollcall-go/rollcall/internal/httpserver"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/state"
)

// Options of a [Server].
type Options struct {
	// Dir is the data directory. It must be this process's own.
	Dir string
	// Proposer applies commands.
	Proposer state.Proposer
	// Backup writes a backup, as consensus.Node does.
	Backup func(ctx context.Context, w io.Writer) error
	// Logger is nil for silence.
	Logger *slog.Logger
}

// Bounds of what the owner of the directory may take; mistakes, not attacks.
const (
	requestTimeout = time.Minute
	closeTimeout   = 2 * time.Second
)

// Server answers on the socket in the data directory.
type Server struct {
	options Options
	server  *httpserver.Server
	served  chan struct{}
}

// Serve listens on the socket until it is closed. A socket that is there was left
// by a process that was killed, as the directory is ours.
func Serve(o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	path := socketPath(o.Dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove an old control socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on the control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the control socket to others: %w", err), l.Close())
	}
	s := &Server{options: o, served: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+backupPath, s.backup)
	mux.HandleFunc("POST "+commandsPath, s.command)
	s.server = httpserver.New(mux, o.Logger)
	go func() {
		defer close(s.served)
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			o.Logger.Error("the control socket does not answer any more", "error", err)
		}
	}()
	return s, nil
}

// Close lets requests finish for two seconds, removes the socket and returns. It
// is idempotent.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = s.server.Shutdown(ctx) // what is cut is seen by whoever waits for it
	err := s.server.Close()
	<-s.served
	return err
}

// backup streams a backup. One that fails on the way is cut off, which the reader
// sees, and the backup shows, too.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/octet-stream")
	sent := &counted{Writer: w}
	err := s.options.Backup(r.Context(), sent)
	switch {
	case err == nil:
	case sent.n == 0:
		refuse(w, err)
	default:
		s.options.Logger.Error("a backup failed", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// counted counts the bytes written.
type counted struct {
	io.Writer
	n int64
}

// Write implements io.Writer.
func (c *counted) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil // would be the beginning of a good answer
	}
	n, err := c.Writer.Write(b)
	c.n += int64(n)
	return n, err
}

// command applies an encoded command and answers with nothing.
func (s *Server) command(w http.ResponseWriter, r *http.Request) {
	command, err := io.ReadAll(http.MaxBytesReader(w, r.Body, consensus.MaxCommandBytes))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, err := s.options.Proposer.Propose(r.Context(), command); err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// refuse answers an error by its kind: [errorOf] reads it.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var bad wire.BadRequest
	switch {
	case errors.Is(err, state.ErrExists):
		status = http.StatusConflict
	case errors.Is(err, state.ErrNotFound):
		status = http.StatusNotFound
	case errors.As(err, &bad):
		status = http.StatusBadRequest
	case errors.Is(err, consensus.ErrUnavailable):
		status = http.StatusServiceUnavailable
	}
	http.Error(w, err.Error(), status)
}
