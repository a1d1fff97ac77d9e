package naming

import (
	"errors"

	"github.com/rollcall-go/rollcall/internal/wire"
)

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

// refusal is a request that cannot be done: a kind to branch on and the text for
// the client.
type refusal struct {
	kind error
	text wire.BadRequest
}

func (r *refusal) Error() string   { return string(r.text) }
func (r *refusal) Unwrap() []error { return []error{r.kind, r.text} }

func refuse(kind error, text string) error { return &refusal{kind: kind, text: wire.BadRequest(text)} }
