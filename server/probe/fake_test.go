package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// network is a network in memory: what an address does is what was set for it,
// and nothing is dead silence.
type network struct {
	mu      sync.Mutex
	answers map[string]func(ctx context.Context) (net.Conn, error)
	dialed  map[string][]time.Time
	open    int
	most    int // dials at the same time
}

func newNetwork() *network {
	return &network{
		answers: make(map[string]func(context.Context) (net.Conn, error)),
		dialed:  make(map[string][]time.Time),
	}
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed[address] = append(n.dialed[address], time.Now())
	n.open++
	n.most = max(n.most, n.open)
	answer := n.answers[address]
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		n.open--
		n.mu.Unlock()
	}()
	if answer == nil {
		answer = silence
	}
	return answer(ctx)
}

func (n *network) set(address string, answer func(ctx context.Context) (net.Conn, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[address] = answer
}

// times returns when an address was dialled.
func (n *network) times(address string) []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]time.Time(nil), n.dialed[address]...)
}

func silence(ctx context.Context) (net.Conn, error) {
	<-ctx.Done()
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
}

func refusal(context.Context) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func unreachable(context.Context) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}
}

func accept(context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	_ = theirs.Close()
	return ours, nil
}

// results keeps what a prober tells.
type results struct {
	mu   sync.Mutex
	all  []Result
	at   []time.Time
	fail bool
}

func (r *results) take(result Result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, result)
	r.at = append(r.at, time.Now())
	if r.fail {
		return errors.New("no quorum")
	}
	return nil
}

// healthy returns what was told of one port, in order.
func (r *results) healthy(port int) []bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []bool{}
	for _, result := range r.all {
		if result.Port == port {
			all = append(all, result.Healthy)
		}
	}
	return all
}

// told returns how much was told, and when the last of it.
func (r *results) told() (n int, last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n = len(r.all); n > 0 {
		last = r.at[n-1]
	}
	return n, last
}

// busiest returns how many dials there were at the same time.
func (n *network) busiest() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.most
}

// held returns how many clusters and targets a prober knows.
func (f *fixture) held() (clusters, targets, scheduled int) {
	f.Prober.mu.Lock()
	defer f.Prober.mu.Unlock()
	return len(f.clusters), f.targets, len(f.schedule)
}

type fixture struct {
	*Prober
	net     *network
	results *results

	mu     sync.Mutex
	params Params
}

// start returns a prober on a network in memory whose first probe of each target
// comes after two seconds.
func start(t testing.TB, change ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{net: newNetwork(), results: &results{}, params: DefaultParams()}
	o := Options{
		Dial: f.net.dial,
		Rand: func() float64 { return 0 },
		Params: func() Params {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.params
		},
	}
	for _, c := range change {
		c(&o)
	}
	p, err := New(o)
	require.NoError(t, err)
	f.Prober = p
	p.OnResult(f.results.take)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return f
}

// switches changes the parameters.
func (f *fixture) switches(change func(*Params)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.params)
}

func cluster1(name string) Cluster {
	return Cluster{
		Service: wire.ServiceKey{
			Namespace:   wire.PublicNamespace,
			ServiceName: wire.ServiceName{Group: wire.DefaultGroup, Name: name},
		},
		Name: wire.DefaultCluster,
	}
}

func healthy(port int) Target { return Target{IP: "127.0.0.1", Port: port, Healthy: true} }

func unhealthy(port int) Target { return Target{IP: "127.0.0.1", Port: port} }

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// intervals returns the time between dials.
func (n *network) intervals(address string) []time.Duration {
	var all []time.Duration
	times := n.times(address)
	for i := 1; i < len(times); i++ {
		all = append(all, times[i].Sub(times[i-1]))
	}
	return all
}
