package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/auth"
)

// statusError is an error with the status it is answered with.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string { return e.message }

func notFoundf(format string, args ...any) error {
	return &statusError{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

var errBodyTooLarge = &statusError{
	http.StatusRequestEntityTooLarge,
	fmt.Sprintf("the body is larger than %d bytes", maxBody),
}

// errTooMuch turns a request away, see package shed. Clients of Nacos ask the next
// server then, or the same one again with their next beat or look.
var errTooMuch = &statusError{
	http.StatusServiceUnavailable, "the server has more requests than it can answer, please try again in a second",
}

// notOffered is the handler of an endpoint that clients know and this server
// refuses on purpose.
func notOffered(message string) handle {
	return func(*call) (answer, error) {
		return answer{}, &statusError{http.StatusNotImplemented, message}
	}
}

// fail answers an error in Nacos' form, "caused: message;". What the client did
// wrong is 400 or the status of the error; the rest is our fault, is logged, and
// shows nothing of itself.
func (a *API) fail(c *gin.Context, err error) {
	var withStatus *statusError
	var bad wire.BadRequest
	var rule auth.RuleError
	switch {
	case refused(c, err):
	case errors.Is(err, errTooMuch):
		c.Header("Retry-After", "1")
		write(c, errTooMuch.status, caused(errTooMuch.message))
	case errors.As(err, &withStatus):
		write(c, withStatus.status, caused(withStatus.message))
	case errors.As(err, &bad):
		write(c, http.StatusBadRequest, caused(string(bad)))
	case errors.As(err, &rule):
		write(c, http.StatusBadRequest, caused(string(rule)))
	case c.Request.Context().Err() != nil:
		// Nobody waits for the answer any more.
		write(c, http.StatusServiceUnavailable, answer{})
	default:
		a.logger.Error("request failed", "method", c.Request.Method, "route", c.FullPath(), "error", err)
		write(c, http.StatusInternalServerError, answer{})
	}
}

// maxMessage bounds what of a request can come back in an error.
const maxMessage = 512

func caused(message string) answer {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return text("caused: " + message + ";")
}

// noRoute answers what is in no route, in the JSON form that Nacos' filters
// give; never by a redirect and never in HTML.
func (a *API) noRoute(c *gin.Context) {
	path := c.Request.URL.Path
	uri := requestURI(c.Request)
	switch {
	case within(path, "/v1/ns"):
		writeError(c, http.StatusNotImplemented, "no such api:"+c.Request.Method+":"+uri, uri)
	case within(path, "/v1/cs"):
		writeError(c, http.StatusNotImplemented,
			"this is a service registry and not a configuration server; it keeps no configuration", uri)
	case within(path, "/v1/core"), within(path, "/v1/console"), within(path, "/v1/auth"):
		writeError(c, http.StatusNotImplemented, "this part of Nacos is not offered: "+c.Request.Method+":"+uri, uri)
	case within(path, "/v2"), within(path, "/v3"):
		writeError(c, http.StatusNotImplemented, "the HTTP API of Nacos 2 and 3 is not offered; clients of Nacos 1 use /v1", uri)
	default:
		writeError(c, http.StatusNotFound, "No message available", uri)
	}
}

func within(path, root string) bool {
	rest, found := strings.CutPrefix(path, root)
	return found && (rest == "" || rest[0] == '/')
}

// requestURI is the path as the client sent it, context path included and
// shortened, without the query.
func requestURI(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return wire.Excerpt(path)
}

func writeError(c *gin.Context, status int, message, path string) {
	answer, err := jsonOf(struct {
		Timestamp string `json:"timestamp"`
		Status    int    `json:"status"`
		Error     string `json:"error"`
		Message   string `json:"message"`
		Path      string `json:"path"`
	}{time.Now().UTC().Format("2006-01-02T15:04:05.000-0700"), status, http.StatusText(status), message, path})
	if err != nil {
		answer = text(message)
	}
	write(c, status, answer)
}
