package autoconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

// watchOf watches a file whose reloads end as outcome says, by their number, and
// tells why they were made.
func watchOf(t *testing.T, outcome func(n int) error) (write func(text string), whys func() []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.yaml")
	write = func(text string) { // at once, or half of it might be read
		require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	write("as it was")
	var mu sync.Mutex
	var made []string
	last := "as it was"
	w := &fileWatch{
		file: file, retry: time.Millisecond,
		seen: func(content []byte) bool {
			before := last
			last = string(content)
			return last == before
		},
		logger: slog.New(slog.DiscardHandler),
		reload: func(_ context.Context, why string) error {
			mu.Lock()
			defer mu.Unlock()
			made = append(made, why)
			return outcome(len(made))
		},
	}
	w.start()
	t.Cleanup(w.stop)
	return write, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(made)
	}
}

const (
	changed = "the file changed"
	failed  = "the last attempt failed"
)

// The file changes while the registry is away, and nobody touches it again.
func TestReload_AChangeDuringAnOutageIsMadeAfterIt(t *testing.T) {
	write, whys := watchOf(t, func(n int) error {
		if n < 4 {
			return errors.New("the registry does not answer")
		}
		return nil
	})
	write("another weight")
	require.Eventually(t, func() bool { return len(whys()) >= 4 }, patience, 10*time.Millisecond)

	write("one more")
	want := []string{changed, failed, failed, failed, changed}
	require.Eventually(t, func() bool { return len(whys()) >= len(want) }, patience, 10*time.Millisecond)
	require.Equal(t, want, whys(), "what was made is not made again")
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
		write, whys := watchOf(t, func(int) error { return err })
		write("one")
		require.Eventually(t, func() bool { return len(whys()) >= 1 }, patience, 10*time.Millisecond)
		write("two")
		require.Eventually(t, func() bool { return len(whys()) >= 2 }, patience, 10*time.Millisecond)
		require.Equal(t, []string{changed, changed}, whys(), "%v", err)
	}
}
