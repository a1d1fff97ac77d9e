package control

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/state"
)

// serve runs what a server has of this package on a directory.
func serve(t *testing.T, dir string) (*Server, *state.State) {
	t.Helper()
	s := state.New()
	node, err := consensus.Open(t.Context(), consensus.Options{Dir: dir, FSM: s})
	require.NoError(t, err)
	server, err := Serve(Options{Dir: dir, Proposer: node, Backup: node.Backup})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.NoError(t, node.Close())
	})
	return server, s
}

func open(t *testing.T, dir string, create bool) *Data {
	t.Helper()
	d, err := Open(t.Context(), dir, create, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func namespace(id string) state.Command {
	return &state.CreateNamespace{Namespace: state.Namespace{ID: id, Name: id}}
}

func TestData_OfAServerThatRuns(t *testing.T) {
	dir := t.TempDir()
	_, served := serve(t, dir)
	d := open(t, dir, false)
	require.True(t, d.Running())
	_, err := state.Propose(t.Context(), d, namespace("dev"))
	require.NoError(t, err)
	_, found := served.View().Namespace("dev")
	require.True(t, found)
	view, err := d.View(t.Context())
	require.NoError(t, err)
	_, found = view.Namespace("dev")
	require.True(t, found)

	// Refusals are of the same kind and have the same words on both sides.
	_, err = state.Propose(t.Context(), d, namespace("dev"))
	require.ErrorIs(t, err, state.ErrExists)
	require.ErrorContains(t, err, "dev")
	_, err = state.Propose(t.Context(), d, &state.UpdateUser{User: state.User{Name: "nobody", PasswordHash: "x"}})
	require.ErrorIs(t, err, state.ErrNotFound)
	_, err = d.Propose(t.Context(), []byte("this is none"))
	var bad wire.BadRequest
	require.ErrorAs(t, err, &bad)
	_, err = d.Propose(t.Context(), bytes.Repeat([]byte("x"), consensus.MaxCommandBytes+1))
	require.Error(t, err)

	require.ErrorIs(t, d.Restore(t.Context(), strings.NewReader("")), ErrRunning)
	info, err := os.Stat(filepath.Join(dir, socketName))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "others cannot even connect")
}

func TestData_OfADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, err := Open(t.Context(), dir, false, nil)
	require.ErrorIs(t, err, ErrNoData)
	require.NoDirExists(t, dir, "looking made nothing")
	require.False(t, Exists(dir))

	d := open(t, dir, true)
	require.False(t, d.Running())
	require.True(t, Exists(dir))
	_, err = state.Propose(t.Context(), d, namespace("dev"))
	require.NoError(t, err)
	var backup bytes.Buffer
	require.NoError(t, d.Backup(t.Context(), &backup))

	_, err = Open(t.Context(), dir, false, nil)
	require.ErrorIs(t, err, consensus.ErrDirectoryInUse, "nobody answers on the socket and somebody has it")

	view, err := ReadBackup(t.Context(), bytes.NewReader(backup.Bytes()))
	require.NoError(t, err)
	_, found := view.Namespace("dev")
	require.True(t, found)
	other := open(t, filepath.Join(t.TempDir(), "other"), true)
	ephemeral := filepath.Join(other.dir, EphemeralFile)
	require.NoError(t, os.WriteFile(ephemeral, nil, 0o600))
	require.Error(t, other.Restore(t.Context(), bytes.NewReader(nil)))
	require.FileExists(t, ephemeral, "nothing was replaced")
	require.NoError(t, other.Restore(t.Context(), bytes.NewReader(backup.Bytes())))
	require.NoFileExists(t, ephemeral, "it belonged to the data before")
	view, err = other.View(t.Context())
	require.NoError(t, err)
	_, found = view.Namespace("dev")
	require.True(t, found)

	var damage *consensus.DamageError
	_, err = ReadBackup(t.Context(), bytes.NewReader(backup.Bytes()[:backup.Len()-1]))
	require.ErrorAs(t, err, &damage)
}

func TestServer_ReplacesTheSocketOfOneThatWasKilled(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, socketName), nil, 0o600))
	server, _ := serve(t, dir)
	require.True(t, open(t, dir, false).Running())
	require.NoError(t, server.Close())
	require.NoError(t, server.Close(), "again")
	require.NoFileExists(t, filepath.Join(dir, socketName))
}

// A backup that fails on the way must not look like a whole one.
func TestServer_ABackupThatFails(t *testing.T) {
	for name, sent := range map[string]int{"before it began": 0, "in the middle": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "VERSION"), nil, 0o600))
			server, err := Serve(Options{Dir: dir, Backup: func(_ context.Context, w io.Writer) error {
				_, err := w.Write(make([]byte, sent))
				return errors.Join(err, consensus.ErrUnavailable)
			}})
			require.NoError(t, err)
			defer func() { require.NoError(t, server.Close()) }()
			err = open(t, dir, false).Backup(t.Context(), io.Discard)
			require.Error(t, err)
			if sent == 0 {
				require.ErrorIs(t, err, consensus.ErrUnavailable)
			}
		})
	}
}

func TestSocketPath_IsTheShorterOne(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.Equal(t, filepath.Join("data", socketName), socketPath(filepath.Join(dir, "data")))
	require.Equal(t, filepath.Join("data", socketName), socketPath("data"))
	t.Chdir("/")
	require.LessOrEqual(t, len(socketPath(dir)), len(filepath.Join(dir, socketName)))
}
