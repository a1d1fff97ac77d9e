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

// guard calls code that is not ours and names it in what goes wrong.
func guard(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: %w", what, &PanicError{Value: p, Stack: debug.Stack()})
		}
	}()
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
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
