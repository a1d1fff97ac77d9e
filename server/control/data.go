package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/state"
)

// ErrNoData says that a directory is no data directory.
var ErrNoData = errors.New("this is not a data directory")

// ErrRunning says that something cannot be done while a server runs on the data
// directory.
var ErrRunning = errors.New("a server runs on this data directory, stop it first")

// EphemeralFile is the name of the copy of the instances that beat, in a data
// directory.
const EphemeralFile = "ephemeral"

// Data is the persistent data of a server. Its methods are safe for concurrent
// use.
type Data struct {
	dir    string
	node   *consensus.Node // nil while a server runs
	state  *state.State    // of the node
	client *http.Client    // of the server that runs
}

var _ state.Proposer = (*Data)(nil)

// Exists reports whether a directory holds data, that of a server whose first
// start was finished.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "VERSION"))
	return err == nil
}

// Open opens the data in a directory: through the server that runs on it, else
// itself. A directory without data is made one when create says so, else it is
// [ErrNoData]. A nil logger discards what opening has to say, such as a log entry
// that was cut off.
func Open(ctx context.Context, dir string, create bool, logger *slog.Logger) (*Data, error) {
	if !create && !Exists(dir) {
		return nil, fmt.Errorf("%w: %s", ErrNoData, dir)
	}
	if client := dial(ctx, dir); client != nil {
		return &Data{client: client}, nil
	}
	d := &Data{dir: dir, state: state.New()}
	var err error
	if d.node, err = consensus.Open(ctx, consensus.Options{Dir: dir, FSM: d.state, Logger: logger}); err != nil {
		return nil, err
	}
	return d, nil
}

// dial returns a client of the server that runs on a directory, nil without one.
func dial(ctx context.Context, dir string) *http.Client {
	path := socketPath(dir)
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil
	}
	_ = conn.Close()
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) },
		// The answer to a backup begins when the log is applied, that to a command
		// when it is on disk.
		ResponseHeaderTimeout: requestTimeout, IdleConnTimeout: time.Second,
	}}
}

// Running reports whether a server runs on the data.
func (d *Data) Running() bool { return d.node == nil }

// Close gives the directory back, unless a server has it.
func (d *Data) Close() error {
	if d.node != nil {
		return d.node.Close()
	}
	d.client.CloseIdleConnections()
	return nil
}

// Propose implements [state.Proposer]. While a server runs, the result says
// nothing but that the command was applied.
func (d *Data) Propose(ctx context.Context, command []byte) (any, error) {
	if d.node != nil {
		return d.node.Propose(ctx, command)
	}
	body, err := d.ask(ctx, http.MethodPost, commandsPath, bytes.NewReader(command))
	if err != nil {
		return nil, err
	}
	return state.Result{Changed: true}, body.Close()
}

// Backup writes a backup with all that was acknowledged before.
func (d *Data) Backup(ctx context.Context, w io.Writer) error {
	if d.node != nil {
		return d.node.Backup(ctx, w)
	}
	body, err := d.ask(ctx, http.MethodGet, backupPath, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, body)
	return errors.Join(err, body.Close())
}

// Restore replaces all data by that of a backup, which is checked before. It is
// refused with [ErrRunning] while a server runs: that would go on with the users
// and the key it began with. The copy of the instances that beat goes: it belongs to
// the data that is replaced.
func (d *Data) Restore(ctx context.Context, r io.Reader) error {
	if d.node == nil {
		return ErrRunning
	}
	if err := d.node.Restore(ctx, r); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(d.dir, EphemeralFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what belonged to the data before: %w", err)
	}
	return nil
}

// View returns the data as they are.
func (d *Data) View(ctx context.Context) (*state.View, error) {
	if d.node != nil {
		return d.state.View(), nil
	}
	var b bytes.Buffer
	if err := d.Backup(ctx, &b); err != nil {
		return nil, err
	}
	return ReadBackup(ctx, &b)
}

// ReadBackup reads a backup to its end, checks it and returns what is in it. The
// error of a damaged one is a *consensus.DamageError.
func ReadBackup(ctx context.Context, r io.Reader) (_ *state.View, err error) {
	s := state.New()
	node, err := consensus.Open(ctx, consensus.Options{FSM: s})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	if err := node.Restore(ctx, r); err != nil {
		return nil, err
	}
	return s.View(), nil
}

// ask makes a request to the server. The body is the caller's to close.
func (d *Data) ask(ctx context.Context, method, path string, body io.Reader) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+socketName+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the running server: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		return resp.Body, nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	return nil, errors.Join(errorOf(resp.StatusCode, strings.TrimSpace(string(text))), err, resp.Body.Close())
}

// remoteError is a refusal by the running server.
type remoteError struct {
	kind error
	text string
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// errorOf is the error that [refuse] answered.
func errorOf(status int, text string) error {
	switch status {
	case http.StatusConflict:
		return &remoteError{state.ErrExists, text}
	case http.StatusNotFound:
		return &remoteError{state.ErrNotFound, text}
	case http.StatusBadRequest:
		return &remoteError{wire.BadRequest(text), text}
	case http.StatusServiceUnavailable:
		return &remoteError{consensus.ErrUnavailable, text}
	}
	return fmt.Errorf("the running server answers %d: %s", status, text)
}
