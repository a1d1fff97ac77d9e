package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/server/control"
)

// TestUserGrant_NothingIsInherited deletes a user as a console does, which does not
// know that the role is nobody else's: a later user of the name has nothing of it.
func TestUserGrant_NothingIsInherited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	rollcall := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		code := run(t.Context(), append(args, "--data-dir", dir), streams{strings.NewReader(""), &out, &errs})
		require.Zero(t, code, errs.String())
		return out.String()
	}
	rollcall("user", "create", "root", "--admin")
	rollcall("user", "create", "ann")
	rollcall("user", "grant", "ann", "rw", "--namespace", "secret")
	data, err := control.Open(t.Context(), dir, false, nil)
	require.NoError(t, err)
	require.NoError(t, dataUsers{data}.DeleteUser(context.Background(), "ann"))
	require.NoError(t, data.Close())

	rollcall("user", "create", "ann")
	rollcall("user", "grant", "ann", "r", "--namespace", "dev")
	shown := rollcall("user", "show", "ann")
	require.Contains(t, shown, "dev:*:naming/*")
	require.NotContains(t, shown, "secret")
}
