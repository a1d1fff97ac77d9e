package registry

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// The configuration keys that errors name.
const (
	keyPort         = "cloud.nacos.discovery.port"
	keyIP           = "cloud.nacos.discovery.ip"
	keyService      = "cloud.nacos.discovery.service"
	keyAuto         = "cloud.service-registry.auto-registration."
	keyRetryInitial = "cloud.nacos.discovery.register-retry.initial"
	keyRetryMax     = "cloud.nacos.discovery.register-retry.max"
	keyRetryJitter  = "cloud.nacos.discovery.register-retry.jitter"
)

// RegisterWhen is the moment of the application's start at which it registers
// (rule A-R5).
type RegisterWhen string

// The moments.
const (
	// WhenReady registers in [AutoServiceRegistration.Start], which is the last
	// step of the application's start: whoever calls the instance finds all of it.
	WhenReady RegisterWhen = "ready"
	// WhenListening registers as soon as the web server listens (Spring's moment).
	WhenListening RegisterWhen = "listening"
	// WhenManual registers in [AutoServiceRegistration.Register] only.
	WhenManual RegisterWhen = "manual"
)

// AutoOptions say when and how an application registers itself. They are the
// configuration block cloud.service-registry.auto-registration with the
// failure rules of cloud.nacos.discovery.
type AutoOptions struct {
	// Enabled switches the feature; when false nothing is ever registered.
	Enabled bool
	// When is the moment of registration.
	When RegisterWhen
	// Delay is added to the moment of registration. The start of the application
	// does not wait for it, so a delayed registration cannot abort the start: it
	// is retried whatever FailFast says.
	Delay time.Duration
	// InitialStatus DOWN registers the instance disabled, until the status is set
	// to UP.
	InitialStatus Status
	// FailFast makes a failing registration an error of the start. Otherwise it
	// is tried again in the background.
	FailFast bool
	// Retry are the pauses of those attempts.
	Retry RetryOptions
	// DeregisterTimeout bounds all of deregistration, hooks included; positive.
	DeregisterTimeout time.Duration
	// Drain is how long the application goes on serving after it has
	// deregistered: at least the time for which callers keep a cached list.
	Drain time.Duration
	// ShutdownReserve is what the drain leaves of the time to stop for the web
	// server's own shutdown.
	ShutdownReserve time.Duration
}

// RetryOptions are the pauses between attempts to register: Initial, doubled
// each time up to Max, each varied at random by up to the fraction Jitter.
type RetryOptions struct {
	// Initial is the first pause; positive.
	Initial time.Duration
	// Max is the longest pause before jitter; at least Initial.
	Max time.Duration
	// Jitter is 0 to 1: 0.2 makes 10 s anything from 8 s to 12 s.
	Jitter float64
	// Rand returns a random number in [0, 1); nil means math/rand/v2.
	Rand func() float64
}

// DefaultAutoOptions returns what applies to an application that configures
// nothing.
func DefaultAutoOptions() AutoOptions {
	return AutoOptions{
		Enabled:           true,
		When:              WhenReady,
		InitialStatus:     StatusUp,
		FailFast:          true,
		Retry:             RetryOptions{Initial: time.Second, Max: 30 * time.Second, Jitter: 0.2},
		DeregisterTimeout: 3 * time.Second,
		ShutdownReserve:   2 * time.Second,
	}
}

// Validate reports everything that is wrong with o, each by its configuration
// key.
func (o AutoOptions) Validate() error {
	var problems []error
	check := func(ok bool, key string, value any, want string) {
		if !ok {
			problems = append(problems, fmt.Errorf("%s %v: %s", key, value, want))
		}
	}
	check(o.When == WhenReady || o.When == WhenListening || o.When == WhenManual,
		keyAuto+"register-when", o.When, "allowed are ready, listening and manual")
	check(o.Delay >= 0, keyAuto+"register-delay", o.Delay, "must not be negative")
	check(o.InitialStatus == StatusUp || o.InitialStatus == StatusDown,
		keyAuto+"initial-status", o.InitialStatus, "allowed are UP and DOWN")
	check(o.DeregisterTimeout > 0, keyAuto+"deregister-timeout", o.DeregisterTimeout, "must be positive")
	check(o.Drain >= 0, keyAuto+"drain", o.Drain, "must not be negative")
	check(o.ShutdownReserve >= 0, "shutdown reserve", o.ShutdownReserve, "must not be negative")
	check(o.Retry.Initial > 0, keyRetryInitial, o.Retry.Initial, "must be positive")
	check(o.Retry.Max >= o.Retry.Initial, keyRetryMax, o.Retry.Max, "must not be less than initial")
	check(o.Retry.Jitter >= 0 && o.Retry.Jitter <= 1, keyRetryJitter, o.Retry.Jitter, "must be 0 to 1")
	return errors.Join(problems...)
}

// StopBudget is how long [AutoServiceRegistration.Stop] may take. The time an
// application has to stop is this, the web server's shutdown and a margin of
// two seconds for the rest (rule A-R8).
func (o AutoOptions) StopBudget() time.Duration {
	if !o.Enabled {
		return 0
	}
	return o.DeregisterTimeout + o.Drain
}

// pauses returns a function that gives one pause after the other.
func (o RetryOptions) pauses() func() time.Duration {
	random := o.Rand
	if random == nil {
		random = rand.Float64
	}
	next := o.Initial
	return func() time.Duration {
		pause := next
		next = min(2*next, o.Max)
		return time.Duration(float64(pause) * (1 + o.Jitter*(2*random()-1)))
	}
}
