package discovery_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var orders = registry.ServiceID{Name: "orders"}.Normalize()

// fakeSource answers what the test says, when the test says.
type fakeSource struct {
	name string

	mu      sync.Mutex
	answer  func(ctx context.Context, id registry.ServiceID) (discovery.Listing, error)
	fetched []time.Time
	flying  int
	most    int
	notify  func(discovery.Listing)
	closed  int
}

func newFake(instances ...registry.Instance) *fakeSource {
	s := &fakeSource{name: "fake"}
	s.set(instances...)
	return s
}

// set answers these instances from now on, with the pace of Nacos.
func (s *fakeSource) set(instances ...registry.Instance) {
	s.respond(func(_ context.Context, id registry.ServiceID) (discovery.Listing, error) {
		return discovery.Listing{Service: id, Instances: cloneAll(instances), CacheFor: 10 * time.Second}, nil
	})
}

func (s *fakeSource) fail(err error) {
	s.respond(func(context.Context, registry.ServiceID) (discovery.Listing, error) { return discovery.Listing{}, err })
}

// hang never answers, but honours the context.
func (s *fakeSource) hang() {
	s.respond(func(ctx context.Context, _ registry.ServiceID) (discovery.Listing, error) {
		<-ctx.Done()
		return discovery.Listing{}, ctx.Err()
	})
}

func (s *fakeSource) respond(f func(context.Context, registry.ServiceID) (discovery.Listing, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

func (s *fakeSource) Name() string { return s.name }

func (s *fakeSource) Fetch(ctx context.Context, id registry.ServiceID) (discovery.Listing, error) {
	s.mu.Lock()
	s.fetched = append(s.fetched, time.Now())
	s.flying++
	s.most = max(s.most, s.flying)
	answer := s.answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.flying--
	}()
	return answer(ctx, id)
}

func (s *fakeSource) Services(ctx context.Context, _, group string) ([]string, error) {
	s.mu.Lock()
	answer := s.answer
	s.mu.Unlock()
	l, err := answer(ctx, orders)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, i := range l.Instances {
		if i.Service.Group == group {
			names = append(names, i.Service.Name)
		}
	}
	return names, nil
}

func (s *fakeSource) Notify(f func(discovery.Listing)) { s.notify = f }

// push tells of a list as a registry does.
func (s *fakeSource) push(id registry.ServiceID, instances ...registry.Instance) {
	s.notify(discovery.Listing{Service: id, Instances: cloneAll(instances), CacheFor: 10 * time.Second})
}

func (s *fakeSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

func (s *fakeSource) fetches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.fetched)
}

// pauses returns the times between the fetches, in whole seconds rounded up:
// jitter only shortens.
func (s *fakeSource) pauses() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pauses []int
	for i := 1; i < len(s.fetched); i++ {
		pauses = append(pauses, int((s.fetched[i].Sub(s.fetched[i-1])+time.Second-1)/time.Second))
	}
	return pauses
}

// inst is an instance of orders at 192.0.2.n:8080.
func inst(n byte, edits ...func(*registry.Instance)) registry.Instance {
	i := registry.NewInstance(orders, "192.0.2."+string('0'+n), 8080)
	for _, edit := range edits {
		edit(&i)
	}
	return i
}

func cloneAll(list []registry.Instance) []registry.Instance {
	list = slices.Clone(list)
	for i := range list {
		list[i] = list[i].Clone()
	}
	return list
}

func newClient(t *testing.T, o discovery.Options) *discovery.Client {
	t.Helper()
	if o.Rand == nil {
		o.Rand = func() float64 { return 0 } // no jitter
	}
	c, err := discovery.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// over returns a client over sources with no other option set.
func over(t *testing.T, sources ...discovery.Source) *discovery.Client {
	t.Helper()
	return newClient(t, discovery.Options{Sources: sources})
}

func snapshot(t *testing.T, c *discovery.Client) *discovery.Snapshot {
	t.Helper()
	s, err := c.Snapshot(t.Context(), orders)
	require.NoError(t, err)
	return s
}

// after lets virtual time pass and everything that is due happen.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// events records what a listener is told.
type events struct {
	mu   sync.Mutex
	seen []*discovery.Snapshot
}

func (e *events) listen(s *discovery.Snapshot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, s)
}

func (e *events) all() []*discovery.Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.seen)
}

func (e *events) revisions() []uint64 {
	var revisions []uint64
	for _, s := range e.all() {
		revisions = append(revisions, s.Revision)
	}
	return revisions
}

func subscribe(t *testing.T, c *discovery.Client) (*events, *discovery.Subscription) {
	t.Helper()
	e := &events{}
	s, err := c.Subscribe(orders, e.listen)
	require.NoError(t, err)
	synctest.Wait()
	return e, s
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct{ testutil.Output }

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
