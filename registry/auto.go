package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"go.uber.org/fx"
)

// Errors of [AutoServiceRegistration] that callers branch on.
var (
	// ErrStopped says that the registration was stopped, for good.
	ErrStopped = errors.New("automatic registration is stopped")
	// ErrDisabled says that automatic registration is switched off.
	ErrDisabled = errors.New("automatic registration is disabled")
	// ErrInvalidRegistration says that a registration cannot be made known as it
	// is. It is not tried again.
	ErrInvalidRegistration = errors.New("invalid registration")
)

// State is where an [AutoServiceRegistration] is in its life (rule A-R1).
type State string

// The states.
const (
	// StateNew is before the first attempt, and for ever if there is none.
	StateNew State = "new"
	// StateStarting is during an attempt, or during the delay before the first.
	StateStarting State = "starting"
	// StateRegistered is set last, after all hooks and events.
	StateRegistered State = "registered"
	// StateFailed is after an attempt that failed; another one may follow.
	StateFailed State = "failed"
	// StateStopping is from the call of Stop on: the instance is on its way out.
	StateStopping State = "stopping"
	// StateStopped is final.
	StateStopped State = "stopped"
)

// AutoServiceRegistrationParams are the parts of an [AutoServiceRegistration].
// fx fills them in; without fx they are set like those of any struct.
type AutoServiceRegistrationParams struct {
	fx.In

	// ServiceRegistry is where to register. It is used, not closed.
	ServiceRegistry ServiceRegistry
	// Registration is the template: what the configuration says. Port 0 takes the
	// web server's port; any other wins over it (rule A-R2).
	Registration Registration
	// Options say when and how.
	Options AutoOptions
	// Hooks run around registering and deregistering.
	Hooks []LifecycleHook `group:"registration.lifecycle"`
	// Customizers change the registration before each attempt.
	Customizers []Customizer `group:"registration.customizer"`
	// Publisher receives the events; nil publishes nothing.
	Publisher Publisher `optional:"true"`
	// Logger receives what happens; nil discards it.
	Logger *slog.Logger `optional:"true"`
}

// AutoServiceRegistration registers this process when it is ready to serve and
// takes it back when it stops: Spring's AbstractAutoServiceRegistration as one
// state machine.
//
// OnWebServerStarted, Start and Stop belong to the application's lifecycle.
// All methods are safe for concurrent use and idempotent; starts and stops
// happen one after the other.
type AutoServiceRegistration struct {
	registry    ServiceRegistry
	options     AutoOptions
	hooks       []LifecycleHook
	customizers []Customizer
	publisher   Publisher
	logger      *slog.Logger

	// life ends with Stop and takes every attempt and pause with it.
	life    context.Context
	endLife context.CancelFunc
	stopped chan struct{} // closed when Stop is through

	drainCut func() // ends the drain, now or in future
	cut      chan struct{}

	// turn is held by the start, the attempt or the stop that runs; calls by the
	// one call to the registry that changes something. They are taken in the
	// order turn, calls, mu. No code that is not ours runs under mu.
	turn, calls turn

	mu         sync.Mutex
	template   Registration // what the configuration says
	refreshed  uint64       // counts the changes of template
	shaped     overlay      // what listeners and hooks made of it in the last attempt
	runtime    overlay      // what was changed at run time, but for the status
	state      State
	lastErr    error
	webPort    int            // the first application server's, 0 until it listens
	status     Status         // what SetStatus said last, "" until then
	current    Registration   // what was last handed to the registry, else the template
	reached    bool           // current may have reached the registry and was not taken back
	live       bool           // the registry has accepted current
	former     []Registration // instances of earlier moves that could not be taken out
	background chan struct{}  // closed when the background attempts end, nil before
}

// NewAutoServiceRegistration returns a registration in state new. It returns an
// error for a missing registry, for options that are not valid and for a
// template with an impossible port; a disabled one is not checked further. It
// starts nothing.
func NewAutoServiceRegistration(p AutoServiceRegistrationParams) (*AutoServiceRegistration, error) {
	if p.ServiceRegistry == nil {
		return nil, errors.New("automatic registration: no service registry")
	}
	if p.Options.Enabled {
		problems := errors.Join(p.Options.Validate(), checkHooks(p.Hooks), checkCustomizers(p.Customizers))
		if p.Registration.Port != 0 {
			problems = errors.Join(problems, checkPort(p.Registration.Port))
		}
		if problems != nil {
			return nil, fmt.Errorf("automatic registration: %w", problems)
		}
	}
	logger := p.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	life, endLife := context.WithCancel(context.Background())
	cut := make(chan struct{})
	a := &AutoServiceRegistration{
		registry:    p.ServiceRegistry,
		options:     p.Options,
		hooks:       sortHooks(p.Hooks),
		customizers: sortCustomizers(p.Customizers),
		publisher:   p.Publisher,
		logger:      logger,
		life:        life,
		endLife:     endLife,
		stopped:     make(chan struct{}),
		drainCut:    sync.OnceFunc(func() { close(cut) }),
		cut:         cut,
		turn:        newTurn(),
		calls:       newTurn(),
		state:       StateNew,
	}
	a.template = a.initial(p.Registration)
	a.current = a.template.clone()
	if w, ok := p.ServiceRegistry.(Watcher); ok {
		w.Watch(a.adopted)
	}
	return a, nil
}

// initial applies the initial status to a template.
func (a *AutoServiceRegistration) initial(template Registration) Registration {
	template = template.clone()
	if a.options.InitialStatus == StatusDown {
		template.Enabled = false
	}
	return template
}

// State returns the present state.
func (a *AutoServiceRegistration) State() State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

// LastError returns why the last attempt to register failed, or else what
// deregistering returned; nil after a success.
func (a *AutoServiceRegistration) LastError() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lastErr
}

// Registration returns a copy of what was last handed to the registry, or of
// the template before that.
func (a *AutoServiceRegistration) Registration() Registration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current.clone()
}

// publish delivers an event; without a publisher it is lost.
func (a *AutoServiceRegistration) publish(ctx context.Context, event any) error {
	if a.publisher == nil {
		return nil
	}
	return guard(fmt.Sprintf("listener of %T", event), func() error { return a.publisher.Publish(ctx, event) })
}

// announce publishes an event about what has happened already: an error of its
// listeners changes nothing and is logged.
func (a *AutoServiceRegistration) announce(ctx context.Context, event any) {
	if err := a.publish(ctx, event); err != nil {
		a.logger.WarnContext(ctx, "event listener failed", failure(err))
	}
}

// makeWritable has metadata that can be written to.
func (r *Registration) makeWritable() {
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
}

func (r Registration) clone() Registration { return Registration{Instance: r.Instance.Clone()} }
