package auth

import (
	"fmt"
	"time"
)

// Refusal is an error whose text is what Nacos tells the client; it is answered
// with 403. Values are compared with errors.Is.
type Refusal string

// The refusals of Nacos 1.4. They say no more than these texts: which of name
// and password was wrong is nobody's business.
const (
	// ErrUnknownUser says that there were no credentials, or that the name or the
	// password is wrong.
	ErrUnknownUser Refusal = "unknown user!"
	// ErrUserNotFound says that the bearer token is empty.
	ErrUserNotFound Refusal = "user not found!"
	// ErrTokenInvalid says that the token was not signed by this installation, is
	// malformed, or belongs to a user who has gone or has another password since.
	ErrTokenInvalid Refusal = "token invalid!"
	// ErrTokenExpired says that the token was good once.
	ErrTokenExpired Refusal = "token expired!"
	// ErrNotAuthorized says that the user has no permission for this.
	ErrNotAuthorized Refusal = "authorization failed!"
	// ErrResourceInvalid says that nothing can be permitted here, as there is no
	// resource or one that no permission could name for certain.
	ErrResourceInvalid Refusal = "resource name invalid!"
)

// Error implements error.
func (r Refusal) Error() string { return string(r) }

// TooManyError says that a password was not even looked at: too many wrong ones
// came for that name or from that address, or more passwords are being checked
// than this server has time for. It is answered with 429.
type TooManyError struct {
	// RetryAfter is how long it makes no sense to try again.
	RetryAfter time.Duration
}

// Error implements error.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("too many logins, try again in %s", e.RetryAfter.Round(time.Second))
}

// RuleError says which rule a new name or password breaks, in words for the one
// who chose it. It is answered with 400.
type RuleError string

// Error implements error.
func (e RuleError) Error() string { return string(e) }
