package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/state"
)

// notMeasured stands for what the operating system's monitoring knows better.
const notMeasured = -1

// operatorMetrics is what clients ask to learn the server's status; the counts
// are for people. What Nacos counts per node is here the whole.
func (a *API) operatorMetrics(*call) (answer, error) {
	stats := a.store.Stats()
	return jsonOf(struct {
		Status                   string     `json:"status"`
		ServiceCount             int        `json:"serviceCount"`
		InstanceCount            int        `json:"instanceCount"`
		RaftNotifyTaskCount      int        `json:"raftNotifyTaskCount"`
		ResponsibleServiceCount  int        `json:"responsibleServiceCount"`
		ResponsibleInstanceCount int        `json:"responsibleInstanceCount"`
		CPU                      wire.Float `json:"cpu"`
		Load                     wire.Float `json:"load"`
		Mem                      wire.Float `json:"mem"`
	}{
		a.status(), stats.Services, stats.Instances, 0, stats.Services, stats.Instances,
		notMeasured, notMeasured, notMeasured,
	})
}

func (a *API) showSwitches(*call) (answer, error) { return jsonOf(a.switches) }

// setSwitch changes a switch for good, or with debug=true until the next start
// or change.
func (a *API) setSwitch(c *call) (answer, error) {
	entry, err := c.bound("entry")
	if err != nil {
		return answer{}, err
	}
	value, err := c.bound("value")
	if err != nil {
		return answer{}, err
	}
	debug, err := c.SpringBool("debug")
	if err != nil {
		return answer{}, err
	}
	if debug {
		return ok, a.switches.Apply(entry, value)
	}
	return ok, a.storeSwitch(c, entry, value)
}

// maxSwitchTries bounds how often a change is made anew because another server
// changed another switch at the same moment.
const maxSwitchTries = 8

// errSwitchesBusy is the answer when others were faster every time.
var errSwitchesBusy = &statusError{
	http.StatusServiceUnavailable, "the switches are being changed by others; nothing was changed by this",
}

// storeSwitch changes a switch in the replicated state. Each change is made from
// what the one before has left, so that there is one at a time on this server;
// what other servers do meanwhile is met by trying again.
func (a *API) storeSwitch(c *call, entry, value string) error {
	ctx, cancel := context.WithTimeout(c.request.Context(), proposalTimeout)
	defer cancel()
	select {
	case a.switching <- struct{}{}:
		defer func() { <-a.switching }()
	case <-ctx.Done():
		return errSwitchesBusy
	}
	for try := 1; ; try++ {
		stored := a.state.View().Switches()
		object, err := withSwitch(stored.Object, entry, value)
		if err != nil {
			return err
		}
		if bytes.Equal(object, stored.Object) {
			if inForce, err := a.inForce(entry, value); inForce || err != nil {
				return err
			}
			// It was changed with debug=true since. Storing the same object once more
			// takes that back.
		}
		_, err = a.propose(c, &state.SetSwitches{Object: object, Seen: stored.Revision})
		switch {
		case !errors.Is(err, state.ErrSwitchesChanged):
			return err
		case try == maxSwitchTries:
			return errSwitchesBusy
		}
	}
}

// inForce says whether a switch has a value already, wherever it got it from.
func (a *API) inForce(entry, value string) (bool, error) {
	now, err := jsonOf(a.switches)
	if err != nil {
		return false, err
	}
	then, err := withSwitch(now.body, entry, value)
	return bytes.Equal(now.body, then), err
}

// withSwitch returns a stored switch object, nothing for the defaults, with one
// entry changed.
func withSwitch(object json.RawMessage, entry, value string) (json.RawMessage, error) {
	switches := naming.NewSwitches()
	if len(object) > 0 {
		if err := switches.Restore(object); err != nil {
			return nil, fmt.Errorf("read the stored switches: %w", err)
		}
	}
	if err := switches.Apply(entry, value); err != nil {
		return nil, err
	}
	changed, err := jsonOf(switches)
	return changed.body, err
}

// pushState says how many pushes were acknowledged of those whose fate is known.
func (a *API) pushState(c *call) (answer, error) {
	detail, err := c.SpringBool("detail")
	if err != nil {
		return answer{}, err
	}
	reset, err := c.SpringBool("reset")
	if err != nil {
		return answer{}, err
	}
	if reset && a.authOn {
		return answer{}, wire.BadRequest("the counts are reset by nobody while authentication is on; the metrics have them too")
	}
	counts := a.push.Counts()
	since := a.pushBase.Load()
	if since != nil {
		counts.Acked -= since.Acked
		counts.Failed -= since.Failed
	}
	if reset {
		base := a.push.Counts()
		a.pushBase.Store(&base)
	}
	total := counts.Acked + counts.Failed
	ratio := any(0) // without a fraction, as in Nacos, while there is nothing to divide
	if total > 0 {
		ratio = wire.Float(float64(counts.Acked) / float64(total))
	}
	reply := struct {
		Succeed uint64 `json:"succeed"`
		Total   uint64 `json:"total"`
		Ratio   any    `json:"ratio"`
		Reset   bool   `json:"reset"`
		// Data are datagrams that wait for an acknowledgement.
		Data *[]pending `json:"data,omitempty"`
	}{counts.Acked, total, ratio, reset, nil}
	if detail && !a.authOn { // who is subscribed is not for everyone then
		waiting := []pending{}
		for _, s := range a.push.Pending(maxPending) {
			waiting = append(waiting, pending{subscriberOf(s.Subscriber), s.Sequence, s.Sends - 1})
		}
		reply.Data = &waiting
	}
	return jsonOf(reply)
}

// maxPending bounds how many datagrams are shown.
const maxPending = 1000

// pending is a datagram that was sent and not acknowledged.
type pending struct {
	subscriber
	LastRefTime int64 `json:"lastRefTime"`
	RetryTimes  int   `json:"retryTimes"`
}
