package naming

import "errors"

// Errors that callers branch on. An error that wraps one of them also is a
// [wire.BadRequest] (errors.As) whose text is Nacos' own.
var (
	// ErrServiceNotFound says that there is no such service.
	ErrServiceNotFound = errors.New("service not found")
	// ErrServiceExists says that a service is there already.
	ErrServiceExists = errors.New("service exists")
	// ErrInstanceNotFound says that there is no such instance.
	ErrInstanceNotFound = errors.New("instance not found")
)
