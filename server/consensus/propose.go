package consensus

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// Errors that callers branch on. Besides them Propose returns the refusals of the
// state machine as they are.
var (
	// ErrUnavailable says that nothing can be changed at the moment (status 503):
	// no leader, overload, a node that closes or whose disk failed.
	ErrUnavailable = errors.New("persistent data cannot be changed at the moment")
	// ErrNotLeader is an ErrUnavailable: another node leads.
	ErrNotLeader = fmt.Errorf("%w: this node does not lead", ErrUnavailable)
	// ErrTooLarge says that a command is longer than MaxCommandBytes.
	ErrTooLarge = errors.New("the change is too large")
)

// Propose brings a command into the log and returns what the state machine made
// of it. When it returns without error the entry is synced to disk and applied.
//
// When ctx ends first, or leadership is lost, the error does not say whether the
// command takes effect: it may be on its way already. A command that cannot be
// proposed at all, for too many are under way or the node is closing, is refused
// at once.
func (n *Node) Propose(ctx context.Context, command []byte) (any, error) {
	if len(command) > MaxCommandBytes {
		n.count("refused")
		return nil, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, len(command), MaxCommandBytes)
	}
	if err := n.fsm.Check(command); err != nil {
		n.count("refused")
		return nil, err
	}
	done, err := n.begin(ctx)
	if err != nil {
		n.count("unavailable")
		return nil, err
	}
	results := make(chan outcome, 1)
	go func() {
		defer done()
		future := n.raft.Apply(command, enqueueTimeout)
		if err := future.Error(); err != nil {
			results <- outcome{err: n.translate(err)}
			return
		}
		results <- future.Response().(outcome)
	}()
	r, err := await(ctx, results)
	switch {
	case err != nil:
		n.count("unknown")
		return nil, err
	case r.err == nil:
		n.count("applied")
	case errors.Is(r.err, ErrUnavailable):
		n.count("unavailable")
	default:
		n.count("refused")
	}
	return r.value, r.err
}

// Barrier returns when the state machine has everything that was proposed before,
// on any node.
func (n *Node) Barrier(ctx context.Context) error {
	done, err := n.begin(ctx)
	if err != nil {
		return err
	}
	results := make(chan outcome, 1)
	go func() {
		defer done()
		if err := n.raft.Barrier(enqueueTimeout).Error(); err != nil {
			results <- outcome{err: n.translate(err)}
			return
		}
		results <- outcome{}
	}()
	r, err := await(ctx, results)
	if err != nil {
		return err
	}
	return r.err
}

// begin takes a slot for something that raft does. done gives it back; it is
// called when raft has answered, which may be after the caller left.
func (n *Node) begin(ctx context.Context) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := n.err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, fmt.Errorf("%w: the server is stopping", ErrUnavailable)
	}
	select {
	case n.slots <- struct{}{}:
	default:
		return nil, fmt.Errorf("%w: %d changes are under way", ErrUnavailable, maxPending)
	}
	n.pending.Add(1)
	return func() { <-n.slots; n.pending.Done() }, nil
}

func await(ctx context.Context, results <-chan outcome) (outcome, error) {
	select {
	case r := <-results:
		return r, nil
	case <-ctx.Done():
		return outcome{}, fmt.Errorf("wait for a change, which may still happen: %w", context.Cause(ctx))
	}
}

// translate brings raft's errors into ours.
func (n *Node) translate(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		if cause := n.waiting(); cause != nil { // nobody leads who cannot write
			return fmt.Errorf("%w: %w", ErrNotLeader, cause)
		}
		return ErrNotLeader
	case errors.Is(err, raft.ErrLeadershipLost):
		return fmt.Errorf("%w; the change may still happen", ErrNotLeader)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func (n *Node) count(outcome string) { n.metrics.proposals.WithLabelValues(outcome).Inc() }
