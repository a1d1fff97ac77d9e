package registry_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errDown is what a registry answers that is not there.
var errDown = errors.New("connection refused")

// journal records what happened, in order, from any goroutine.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

func (j *journal) count(line string) int {
	n := 0
	for _, l := range j.all() {
		if l == line {
			n++
		}
	}
	return n
}

// fakeRegistry is a ServiceRegistry whose behaviour each test sets.
type fakeRegistry struct {
	*journal
	onRegister, onDeregister func(context.Context, registry.Registration) error
	onStatus                 func(context.Context, registry.Registration, registry.Status) error

	mu         sync.Mutex
	registered map[registry.Key]registry.Registration
}

func newFakeRegistry() *fakeRegistry {
	return &fakeRegistry{journal: &journal{}, registered: map[registry.Key]registry.Registration{}}
}

func (f *fakeRegistry) Register(ctx context.Context, r registry.Registration) error {
	f.add("register %s", r.Address())
	if f.onRegister != nil {
		if err := f.onRegister(ctx, r); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.registered[r.Key()] = r
	return nil
}

func (f *fakeRegistry) Deregister(ctx context.Context, r registry.Registration) error {
	f.add("deregister %s", r.Address())
	f.mu.Lock()
	delete(f.registered, r.Key())
	f.mu.Unlock()
	if f.onDeregister != nil {
		return f.onDeregister(ctx, r)
	}
	return nil
}

func (f *fakeRegistry) SetStatus(ctx context.Context, r registry.Registration, status registry.Status) error {
	f.add("status %s %s", r.Address(), status)
	if f.onStatus != nil {
		if err := f.onStatus(ctx, r, status); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Enabled = status == registry.StatusUp
	f.registered[r.Key()] = r
	return nil
}

func (f *fakeRegistry) Status(_ context.Context, r registry.Registration) (registry.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.registered[r.Key()]
	switch {
	case !ok:
		return "", registry.ErrNotFound
	case known.Enabled:
		return registry.StatusUp, nil
	default:
		return registry.StatusDown, nil
	}
}

func (f *fakeRegistry) Close() error { return nil }

// only returns the one registration that the registry knows.
func (f *fakeRegistry) only(t *testing.T) registry.Registration {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Len(t, f.registered, 1)
	for _, r := range f.registered {
		return r
	}
	panic("unreachable")
}

func (f *fakeRegistry) empty(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Empty(t, f.registered)
}

// untilContext blocks as a registry does that accepts and never answers.
func untilContext(ctx context.Context, _ registry.Registration) error {
	<-ctx.Done()
	return ctx.Err()
}

// downFor fails until the given time has passed.
func downFor(d time.Duration) func(context.Context, registry.Registration) error {
	from := time.Now()
	return func(context.Context, registry.Registration) error {
		if time.Since(from) < d {
			return errDown
		}
		return nil
	}
}

// bus is a Publisher that records the events and may act on them.
type bus struct {
	*journal
	on func(ctx context.Context, event any) error
}

func (b *bus) Publish(ctx context.Context, event any) error {
	b.add("event %T", event)
	if b.on != nil {
		return b.on(ctx, event)
	}
	return nil
}

// template is what the configuration says: a service, an address, and the web
// server's port.
func template() registry.Registration {
	return registry.Registration{Instance: registry.NewInstance(registry.ServiceID{Name: "orders"}, "192.0.2.7", 0)}
}

// params returns parts that register at the fake registry; the pauses between
// attempts are not varied.
func params(f *fakeRegistry, change ...func(*registry.AutoServiceRegistrationParams)) registry.AutoServiceRegistrationParams {
	p := registry.AutoServiceRegistrationParams{
		ServiceRegistry: f,
		Registration:    template(),
		Options:         registry.DefaultAutoOptions(),
	}
	p.Options.Retry.Jitter = 0
	for _, c := range change {
		c(&p)
	}
	return p
}

func newAuto(t *testing.T, f *fakeRegistry, change ...func(*registry.AutoServiceRegistrationParams)) *registry.AutoServiceRegistration {
	t.Helper()
	auto, err := registry.NewAutoServiceRegistration(params(f, change...))
	require.NoError(t, err)
	return auto
}

// listening tells that the application's web server listens.
func listening(t *testing.T, auto *registry.AutoServiceRegistration, port int) {
	t.Helper()
	require.NoError(t, auto.OnWebServerStarted(t.Context(), webServer("", port)))
}

func webServer(namespace string, port int) registry.WebServerStarted {
	return registry.WebServerStarted{Namespace: namespace, Addr: &net.TCPAddr{IP: net.IPv4zero, Port: port}}
}

// recordingHook records each of its four calls.
func recordingHook(j *journal, name string, order int) registry.LifecycleHook {
	return registry.NewHook(name, order, registry.HookFuncs{
		BeforeRegister:   func(context.Context, *registry.Registration) error { j.add("%s before register", name); return nil },
		AfterRegister:    func(context.Context, registry.Registration) error { j.add("%s after register", name); return nil },
		BeforeDeregister: func(context.Context, registry.Registration) error { j.add("%s before deregister", name); return nil },
		AfterDeregister:  func(context.Context, registry.Registration) error { j.add("%s after deregister", name); return nil },
	})
}
