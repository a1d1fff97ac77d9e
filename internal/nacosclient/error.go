package nacosclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// ErrClosed says that the client was closed before the call or during it.
var ErrClosed = errors.New("nacos client is closed")

// Error is one failed request to one server.
type Error struct {
	// Request is the method and path, such as "PUT /v1/ns/instance/beat".
	Request string
	// Server is the entry of the server list.
	Server string
	// Status is the HTTP status, 0 when there was no answer.
	Status int
	// Answered says that an answer came, readable or not.
	Answered bool
	// Strange says that the answer came whole, as a success, and is none that the
	// protocol has.
	Strange bool
	// Body is the beginning of the answer.
	Body string
	// Message is what a refusal says: the message of a JSON document of errors,
	// else the text; bounded.
	Message string
	// Err is why there was no answer, or why it could not be read; nil where
	// Status says it all.
	Err error
}

// Error names request, server, status and the beginning of the answer.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s", e.Request, e.Server)
	if e.Status != 0 {
		b.WriteString(": status " + strconv.Itoa(e.Status))
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Body != "" {
		fmt.Fprintf(&b, ": %q", e.Body)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Disowned reports whether a server answered in a way that may mean it does not
// know the instance it was asked about: with status 404, or with what the protocol
// does not have. Of several servers one is enough.
func Disowned(err error) bool {
	var all interface{ Unwrap() []error }
	if errors.As(err, &all) {
		return slices.ContainsFunc(all.Unwrap(), Disowned)
	}
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Strange || e.Status == http.StatusNotFound)
}

// Refused reports whether every server that was asked answered that the request is
// wrong or not allowed, so that it changed nothing.
func Refused(err error) bool {
	return !slices.ContainsFunc(statusesOf(err), func(status int) bool { return status/100 != 4 })
}

// excerpt bounds a body for an [Error].
func excerpt(body []byte) string { return wire.Excerpt(strings.TrimSpace(string(body))) }

// maxMessage bounds the message of an [Error].
const maxMessage = 512

// messageOf finds what the body of a refusal says.
func messageOf(body []byte) string {
	var document struct {
		Message string `json:"message"`
	}
	text := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &document) == nil && document.Message != "" {
		text = document.Message
	}
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}
