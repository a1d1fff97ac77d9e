package state

import (
	"errors"
	"fmt"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Kinds of refusals that callers branch on. An error that wraps one of them also
// is a [wire.BadRequest] (errors.As) whose text is Nacos' own where it has one.
var (
	// ErrExists is in every refusal of something that is there already.
	ErrExists = errors.New("exists already")
	// ErrNotFound is in every refusal of something that is not there.
	ErrNotFound = errors.New("not found")

	// ErrServiceExists is the ErrExists of services, and so on.
	ErrServiceExists   = fmt.Errorf("service %w", ErrExists)
	ErrNamespaceExists = fmt.Errorf("namespace %w", ErrExists)
	ErrUserExists      = fmt.Errorf("user %w", ErrExists)
	ErrSecretExists    = fmt.Errorf("secret %w", ErrExists)

	// ErrServiceNotFound is the ErrNotFound of services, and so on.
	ErrServiceNotFound   = fmt.Errorf("service %w", ErrNotFound)
	ErrInstanceNotFound  = fmt.Errorf("instance %w", ErrNotFound)
	ErrNamespaceNotFound = fmt.Errorf("namespace %w", ErrNotFound)
	ErrUserNotFound      = fmt.Errorf("user %w", ErrNotFound)
	ErrRoleNotFound      = fmt.Errorf("role %w", ErrNotFound)

	// ErrUserIsAdmin says that a user is an administrator and cannot be deleted.
	ErrUserIsAdmin = errors.New("user is an administrator")
	// ErrServiceNotEmpty says that a service has persistent instances or settings.
	ErrServiceNotEmpty = errors.New("service has persistent instances or settings")
	// ErrSwitchesChanged says that the switches are no longer what the caller saw.
	ErrSwitchesChanged = errors.New("switches were changed meanwhile")
)

// UnknownCommandError says that a command, or a record of a snapshot, was written
// by a newer version. Nothing was changed.
type UnknownCommandError struct {
	// Tag names it, Version is that of its form.
	Tag     string
	Version int
	// Reason is what in it is not known; empty for all of it.
	Reason string
}

func (e *UnknownCommandError) Error() string {
	reason := ""
	if e.Reason != "" {
		reason = " (" + wire.Excerpt(e.Reason) + ")"
	}
	return fmt.Sprintf("%q in version %d is not known here%s: a newer version of the server wrote it, and that or a later one can read it",
		wire.Excerpt(e.Tag), e.Version, reason)
}

// Halts says that the state machine cannot go on past such a command.
func (e *UnknownCommandError) Halts() bool { return true }
