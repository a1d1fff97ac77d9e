package consensus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// Backup writes the state as it is now, with all that was acknowledged before, in
// a form that [Node.Restore] reads and that shows any damage. The node goes on
// meanwhile.
func (n *Node) Backup(ctx context.Context, w io.Writer) error {
	if err := n.Barrier(ctx); err != nil {
		return err
	}
	meta := raft.SnapshotMeta{
		Version: raft.SnapshotVersionMax, ID: "backup", Index: n.raft.AppliedIndex(), Term: n.raft.CurrentTerm(),
	}
	state, err := n.machine.state()
	if err != nil {
		return fmt.Errorf("write a backup: %w", err)
	}
	c, err := newContainer(w, meta)
	if err != nil {
		return err
	}
	if _, err := state.WriteTo(c); err != nil {
		return fmt.Errorf("write a backup: %w", err)
	}
	return c.Close()
}

// Restore replaces the state, on every node, by that of a backup. The backup is
// read and checked to its end before anything is changed; a damaged one is a
// [DamageError]. Proposals that are under way are refused with [ErrUnavailable].
// A snapshot from a data directory is a backup, too.
func (n *Node) Restore(ctx context.Context, r io.Reader) error {
	c, err := openContainer(r, "the backup")
	if err != nil {
		return err
	}
	content, err := io.ReadAll(c)
	if err != nil {
		return err
	}
	if err := n.fsm.CheckSnapshot(bytes.NewReader(content)); err != nil {
		return fmt.Errorf("restore a backup: %w", err)
	}
	done, err := n.begin(ctx)
	if err != nil {
		return err
	}
	results := make(chan outcome, 1)
	go func() {
		defer done()
		meta := &raft.SnapshotMeta{Version: raft.SnapshotVersionMax, Index: c.meta.Index, Term: c.meta.Term, Size: int64(len(content))}
		results <- outcome{err: n.raft.Restore(meta, bytes.NewReader(content), enqueueTimeout)}
	}()
	result, err := await(ctx, results)
	switch {
	case err != nil:
		return err
	case errors.Is(result.err, raft.ErrNotLeader):
		return ErrNotLeader
	case result.err != nil:
		return fmt.Errorf("restore a backup: %w", result.err)
	}
	return nil
}
