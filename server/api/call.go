package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/auth"
)

// maxBody bounds a form body. A beat or a registration has a few hundred bytes,
// metadata included a few thousand.
const maxBody = 1 << 20

// call is one request with its parameters, which are read in one way for every
// endpoint: from the query and, for the methods that write, from a form body.
type call struct {
	wire.Params
	request *http.Request
	writer  http.ResponseWriter
	form    []byte // the body, where it holds parameters
	// user is who sent the request, where the route asks for that.
	user auth.Principal
}

func newCall(c *gin.Context) (*call, error) {
	r := c.Request
	var body []byte
	if hasForm(r) {
		var err error
		if body, err = readBody(c.Writer, r); err != nil {
			return nil, err
		}
	}
	params, err := wire.ParseParams(r.URL.RawQuery, body)
	if err != nil {
		return nil, err
	}
	return &call{Params: params, request: r, writer: c.Writer, form: body}, nil
}

// readBody reads a body of bounded size, in the time that bound gives it.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, errBodyTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, errBodyTooLarge
	}
	if err != nil {
		return nil, wire.BadRequestf("the body cannot be read")
	}
	return body, nil
}

// document reads a body that is one JSON document, whatever its content type
// says; servers send it encoded like a parameter, or plain.
func (c *call) document(into any) error {
	body := c.form
	if body == nil {
		var err error
		if body, err = readBody(c.writer, c.request); err != nil {
			return err
		}
	}
	text := string(bytes.TrimSpace(body))
	if strings.HasPrefix(text, "%") {
		if decoded, err := url.QueryUnescape(text); err == nil {
			text = decoded
		}
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return wire.BadRequest("the body is not the JSON document that is expected here")
	}
	return nil
}

// hasForm reports whether the request has a body that holds parameters. Nacos
// reads them for every method that writes; other content types are ignored.
func hasForm(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return false
	}
	if r.ContentLength == 0 {
		return false
	}
	const form = "application/x-www-form-urlencoded"
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(contentType), form)
}

// agent is what the client says it is. It decides the form of names and whether
// it can be pushed to, and gives no trust.
func (c *call) agent() wire.Agent {
	return wire.ParseAgent(c.request.Header.Get("User-Agent"), c.request.Header.Get("Client-Version"))
}
