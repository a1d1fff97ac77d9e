package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/state"
)

// proposalTimeout is how long a change of the persistent data may take until it
// is answered that it cannot be made at the moment.
const proposalTimeout = 5 * time.Second

// propose has a command applied. When it returns without error, the change is
// stored, and every answer from now on shows it.
func (a *API) propose(c *call, command state.Command) (state.Result, error) {
	ctx, cancel := context.WithTimeout(c.request.Context(), proposalTimeout)
	defer cancel()
	result, err := state.Propose(ctx, a.proposer, command)
	switch {
	case err == nil:
		return result, nil
	case errors.Is(err, consensus.ErrTooLarge):
		return result, &statusError{http.StatusRequestEntityTooLarge, err.Error()}
	case errors.Is(err, consensus.ErrUnavailable):
		return result, &statusError{http.StatusServiceUnavailable, err.Error()}
	case ctx.Err() != nil:
		return result, &statusError{
			http.StatusServiceUnavailable,
			"the change was not confirmed in time; it may still happen",
		}
	}
	return result, err
}

// change is propose for the many commands whose result is of no interest.
func (a *API) change(c *call, command state.Command) (answer, error) {
	_, err := a.propose(c, command)
	return ok, err
}
