package registry

import (
	"fmt"
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
