package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// LifecycleHook takes part in registering and deregistering (Spring's
// RegistrationLifecycle). fx collects hooks in the value group
// "registration.lifecycle".
//
// Hooks run one after another, ordered by Order and then by Name. A hook honours
// its context: an attempt to register, or the stop of the application, waits
// for it. So it does not call Start, Register or Stop. A hook that panics is
// treated as if it had returned an error (rule A-R13).
//
// An error from BeforeRegister or AfterRegister fails the attempt to register,
// which may be made again with all hooks. Errors from BeforeDeregister and
// AfterDeregister are logged; all hooks run whatever happened to the others.
type LifecycleHook interface {
	// Order sorts the hooks, smallest first.
	Order() int
	// Name sorts hooks of equal order and names the hook in errors.
	Name() string
	// BeforeRegister may change the registration.
	BeforeRegister(ctx context.Context, r *Registration) error
	// AfterRegister runs when the registry has accepted the registration.
	AfterRegister(ctx context.Context, r Registration) error
	// BeforeDeregister runs while the registration may still receive traffic.
	BeforeDeregister(ctx context.Context, r Registration) error
	// AfterDeregister runs after the deregister call, whether or not the registry
	// could be reached.
	AfterDeregister(ctx context.Context, r Registration) error
}

// HookFuncs are the parts of a hook; nil parts do nothing. [NewHook] makes a
// [LifecycleHook] of them.
type HookFuncs struct {
	BeforeRegister   func(ctx context.Context, r *Registration) error
	AfterRegister    func(ctx context.Context, r Registration) error
	BeforeDeregister func(ctx context.Context, r Registration) error
	AfterDeregister  func(ctx context.Context, r Registration) error
}

// NewHook returns a hook that calls the functions in f.
func NewHook(name string, order int, f HookFuncs) LifecycleHook {
	return funcHook{name: name, order: order, funcs: f}
}

type funcHook struct {
	name  string
	order int
	funcs HookFuncs
}

func (h funcHook) Name() string { return h.name }
func (h funcHook) Order() int   { return h.order }

func (h funcHook) BeforeRegister(ctx context.Context, r *Registration) error {
	if h.funcs.BeforeRegister == nil {
		return nil
	}
	return h.funcs.BeforeRegister(ctx, r)
}

func (h funcHook) AfterRegister(ctx context.Context, r Registration) error {
	return callIfSet(ctx, h.funcs.AfterRegister, r)
}

func (h funcHook) BeforeDeregister(ctx context.Context, r Registration) error {
	return callIfSet(ctx, h.funcs.BeforeDeregister, r)
}

func (h funcHook) AfterDeregister(ctx context.Context, r Registration) error {
	return callIfSet(ctx, h.funcs.AfterDeregister, r)
}

func callIfSet(ctx context.Context, f func(context.Context, Registration) error, r Registration) error {
	if f == nil {
		return nil
	}
	return f(ctx, r)
}

// checkHooks refuses a hook that is not there: what was to be done would not be.
func checkHooks(hooks []LifecycleHook) error {
	if slices.Contains(hooks, nil) {
		return errors.New("a lifecycle hook is nil")
	}
	return nil
}

func checkCustomizers(customizers []Customizer) error {
	for _, c := range customizers {
		if c.Customize == nil {
			return fmt.Errorf("customizer %q has no function", c.Name)
		}
	}
	return nil
}

func sortHooks(hooks []LifecycleHook) []LifecycleHook {
	return slices.SortedStableFunc(slices.Values(hooks), func(a, b LifecycleHook) int {
		return cmp.Or(cmp.Compare(a.Order(), b.Order()), cmp.Compare(a.Name(), b.Name()))
	})
}

// Customizer changes the registration before it is made known (Spring's
// NacosRegistrationCustomizer). fx collects customizers in the value group
// "registration.customizer". They run ordered by Order and then by Name, once
// per attempt to register, and once more whenever the configuration changed, each
// time on the registration as it was configured, and before the event
// [InstancePreRegistered]. What they set is overridden only by listeners, hooks and
// what was changed at run time (rule B-R4).
type Customizer struct {
	// Name sorts customizers of equal order and names this one in errors.
	Name string
	// Order sorts the customizers, smallest first.
	Order int
	// Customize may change anything; an error fails the attempt.
	Customize func(r *Registration) error
}

func sortCustomizers(customizers []Customizer) []Customizer {
	return slices.SortedStableFunc(slices.Values(customizers), func(a, b Customizer) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name))
	})
}
