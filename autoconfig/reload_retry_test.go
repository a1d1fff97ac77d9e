package autoconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

// watchOf watches a file whose reloads end as outcome says, by their number.
func watchOf(t *testing.T, outcome func(n int64) error) (write func(text string), reloads *atomic.Int64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.yaml")
	write = func(text string) { // at once, or half of it might be read
		require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	write("as it was")
	reloads = new(atomic.Int64)
	last := "as it was"
	w := &fileWatch{
		file: file, retry: time.Millisecond,
		seen: func(content []byte) bool {
			before := last
			last = string(content)
			return last == before
		},
		logger: slog.New(slog.DiscardHandler),
		reload: func(context.Context, string) error { return outcome(reloads.Add(1)) },
	}
	w.start()
	t.Cleanup(w.stop)
	return write, reloads
}

// The file changes while the registry is away, and nobody touches it again.
func TestReload_AChangeDuringAnOutageIsMadeAfterIt(t *testing.T) {
	write, reloads := watchOf(t, func(n int64) error {
		if n < 4 {
			return errors.New("the registry does not answer")
		}
		return nil
	})
	write("another weight")
	require.Eventually(t, func() bool { return reloads.Load() == 4 }, 20*time.Second, 10*time.Millisecond)

	write("one more")
	require.Eventually(t, func() bool { return reloads.Load() > 4 }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, int64(5), reloads.Load(), "what was made is not made again")
}

func TestReload_AFileThatIsNoYAMLIsNotTriedAgain(t *testing.T) {
	r := reloadWith(t, "")
	for _, text := range []string{"cloud: [", "server.port: x\n"} {
		err := r.reload(text)
		require.Error(t, err)
		require.False(t, mayPass(err), "%v", err)
	}
}

func TestReload_WhatStaysWrongIsNotTriedAgain(t *testing.T) {
	for _, err := range []error{
		unreadable{errors.New("a.yaml: no YAML")}, fmt.Errorf("reload: %w", registry.ErrInvalidRegistration), &registry.CodeError{What: "customizer", Err: errors.New("no")},
	} {
		write, reloads := watchOf(t, func(int64) error { return err })
		write("one")
		require.Eventually(t, func() bool { return reloads.Load() > 0 }, 20*time.Second, 10*time.Millisecond)
		write("two")
		require.Eventually(t, func() bool { return reloads.Load() > 1 }, 20*time.Second, 10*time.Millisecond)
		require.Equal(t, int64(2), reloads.Load(), "%v", err)
	}
}
