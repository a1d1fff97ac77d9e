package registry

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// PanicError is the error of a hook, customizer or listener that panicked (rule
// A-R13).
type PanicError struct {
	// Value is what it panicked with.
	Value any
	// Stack is where, as [debug.Stack] gives it.
	Stack []byte
}

// Error returns the value alone; the stack is for logs.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// CodeError is an error of the application's own part in a registration: of a hook,
// a customizer, a listener or the function given to Update. The registry has no
// share in it.
type CodeError struct {
	// What names the part, as in "hook warm-up before registering".
	What string
	// Err is what it returned, or a *[PanicError].
	Err error
}

// Error names the part before its error.
func (e *CodeError) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *CodeError) Unwrap() error { return e.Err }

// guard calls code that is not ours and names it in what goes wrong.
func guard(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &CodeError{What: what, Err: &PanicError{Value: p, Stack: debug.Stack()}}
		}
	}()
	if err := f(); err != nil {
		return &CodeError{What: what, Err: err}
	}
	return nil
}

// call calls a registry, whose errors say what was attempted; a panic does not.
func call(what string, r Registration, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s %s of %s: %w", what, r.Address(), r.Service, &PanicError{Value: p, Stack: debug.Stack()})
		}
	}()
	return f()
}

// failure is an error for a log line, with the stack if it is a panic.
func failure(err error) slog.Attr {
	attr := slog.Any("error", err)
	if p, ok := errors.AsType[*PanicError](err); ok {
		return slog.Group("", attr, slog.String("stack", string(p.Stack)))
	}
	return attr
}
