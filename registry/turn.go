package registry

import "context"

// turn is a mutex whose waiting ends with a context. The zero value is not
// usable; see newTurn.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn and returns what gives it back. A turn that is free
// is taken even when the context is done.
func (t turn) take(ctx context.Context) (giveBack func(), err error) {
	giveBack = func() { <-t }
	select {
	case t <- struct{}{}:
		return giveBack, nil
	default:
	}
	select {
	case t <- struct{}{}:
		return giveBack, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
