package projection

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/state"
)

const (
	// maxDiscards is how many empty services wait for their removal; for more the
	// store asks again.
	maxDiscards = 1024
	// discardTimeout bounds one removal.
	discardTimeout = 5 * time.Second
)

// Discarder removes the settings of services that the store found empty for long
// enough from the state.
type Discarder struct {
	queue  chan wire.ServiceKey
	logger *slog.Logger
	cancel context.CancelFunc
	done   chan struct{}
}

// NewDiscarder returns a discarder that does nothing until it is run.
func NewDiscarder(logger *slog.Logger) *Discarder {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Discarder{queue: make(chan wire.ServiceKey, maxDiscards), logger: logger}
}

// Discard asks for a removal and returns at once; it is what
// naming.Options.Discard wants.
func (d *Discarder) Discard(k wire.ServiceKey) {
	select {
	case d.queue <- k:
	default:
	}
}

// Run begins to remove. It is called once.
func (d *Discarder) Run(p *Projection, proposer state.Proposer) {
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel, d.done = cancel, make(chan struct{})
	go func() {
		defer close(d.done)
		for {
			select {
			case <-ctx.Done():
				return
			case k := <-d.queue:
				d.discard(ctx, p, proposer, k)
			}
		}
	}()
}

func (d *Discarder) discard(ctx context.Context, p *Projection, proposer state.Proposer, k wire.ServiceKey) {
	ctx, cancel := context.WithTimeout(ctx, discardTimeout)
	defer cancel()
	done := p.Release(k)
	defer done()
	_, err := state.Propose(ctx, proposer, &state.DeleteService{Service: k, IfEmpty: true})
	switch {
	case err == nil, errors.Is(err, state.ErrServiceNotFound), errors.Is(err, state.ErrServiceNotEmpty):
	default: // the store asks again
		d.logger.Debug("an empty service could not be removed", "service", k.String(), "error", err)
	}
}

// Close stops removing and waits for that. It may be called more than once, and
// without Run.
func (d *Discarder) Close() error {
	if d.cancel != nil {
		d.cancel()
		<-d.done
	}
	return nil
}
