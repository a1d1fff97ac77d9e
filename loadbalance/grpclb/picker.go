package grpclb

import (
	"context"
	"errors"
	"net/http"
	"net/textproto"
	"sync"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/metadata"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// picker chooses for calls. It is made for each list and immutable, but the
// links' states move under it.
type picker struct {
	balancer *loadbalance.LoadBalancer
	service  registry.ServiceID
	// byInstance finds what the balancer chose from the very list that the picker
	// was made for, byKey from a list that only says more about the same instances.
	byInstance map[*registry.Instance]*link
	byKey      map[registry.Key]*link
	calls      *sync.Pool // of *call
}

func newPicker(u *update, calls *sync.Pool) *picker {
	n := len(u.snapshot.Instances)
	return &picker{
		balancer: u.balancer, service: u.snapshot.Service, calls: calls,
		byInstance: make(map[*registry.Instance]*link, n), byKey: make(map[registry.Key]*link, n),
	}
}

// link returns that of an instance; nil when it is newer than the picker.
func (p *picker) link(i *registry.Instance) *link {
	if l := p.byInstance[i]; l != nil {
		return l
	}
	return p.byKey[i.Key()]
}

// Pick implements balancer.Picker. It asks the balancer for an instance that is
// connected. Where there is none, the call waits if that may change soon.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	c := p.calls.Get().(*call)
	c.picker = p
	attempts := recordOf(info.Ctx)
	chosen, err := p.balancer.ChooseFor(info.Ctx, loadbalance.Request{
		Service: p.service, Tried: attempts.before(), Method: info.FullMethodName, HeaderOf: headerOf,
		Reachable: c.reachable, Lost: c.lost,
	})
	if err != nil {
		err = c.why(err)
		c.giveBack()
		return balancer.PickResult{}, err
	}
	attempts.add(chosen.Instance)
	l := p.link(chosen.Instance)
	if chosen.Done == nil {
		c.giveBack()
		return balancer.PickResult{SubConn: l.conn}, nil
	}
	c.done = chosen.Done
	if attempts == nil || !attempts.stream {
		c.began = time.Now()
	}
	return balancer.PickResult{SubConn: l.conn, Done: c.ended}, nil
}

// call is what is kept of one call. Calls are pooled, with their methods bound
// once, so that a pick allocates nothing.
type call struct {
	picker *picker
	// choice is the link to what the policy would choose; nil with asked set when
	// there is none yet.
	choice *link
	asked  bool
	// noChoice says that the choice has failed, and that there is none beside it
	// yet.
	noChoice bool
	done     func(loadbalance.Outcome)
	began    time.Time // zero for streams

	reachable func(*registry.Instance) bool
	lost      func(*registry.Instance) bool
	ended     func(balancer.DoneInfo)
}

func newCall() *call {
	c := &call{}
	c.reachable, c.lost, c.ended = c.reaches, c.hasLost, c.end
	return c
}

func (c *call) giveBack() {
	pool := c.picker.calls
	c.picker, c.choice, c.asked, c.noChoice, c.done, c.began = nil, nil, false, false, nil, time.Time{}
	pool.Put(c)
}

// reaches reports whether an instance is connected. The first one asked about is
// what the policy chose, and so is the first after one that was lost: it is
// connected if it never was.
func (c *call) reaches(i *registry.Instance) bool {
	l := c.picker.link(i)
	if !c.asked || c.noChoice {
		c.asked, c.noChoice, c.choice = true, false, l
		if l != nil {
			l.demand()
		}
	}
	return l != nil && l.is() == ready
}

// hasLost reports whether the connection to an instance failed.
func (c *call) hasLost(i *registry.Instance) bool {
	l := c.picker.link(i)
	if l == nil || l.is() != failed {
		return false
	}
	if l == c.choice {
		c.noChoice = true
	}
	return true
}

// why says what becomes of a call for which nothing was chosen.
func (c *call) why(err error) error {
	switch {
	case !c.asked || !errors.Is(err, loadbalance.ErrNoInstance):
		return err
	case c.noChoice:
		return errNoLink(c.picker.service, c.choice)
	}
	// It is being connected, or stands in a list that is on its way.
	return balancer.ErrNoSubConnAvailable
}

// end tells the balancer how the call ended.
func (c *call) end(info balancer.DoneInfo) {
	done, began := c.done, c.began
	c.giveBack()
	stream := began.IsZero()
	o := outcomeOf(info, stream)
	if !stream && info.BytesReceived {
		o.Latency = time.Since(began)
	}
	done(o)
}

// headerOf returns a call's metadata as a header, for the stages that look at
// it.
func headerOf(ctx context.Context) http.Header {
	md, ok := metadata.FromOutgoingContext(ctx)
	if !ok {
		return nil
	}
	header := make(http.Header, len(md))
	for key, values := range md {
		header[textproto.CanonicalMIMEHeaderKey(key)] = values
	}
	return header
}
