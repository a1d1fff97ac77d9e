package api

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// maxBody bounds a form body. A beat or a registration has a few hundred bytes,
// metadata included a few thousand.
const maxBody = 1 << 20

// call is one request with its parameters, which are read in one way for every
// endpoint: from the query and, for the methods that write, from a form body.
type call struct {
	wire.Params
	request *http.Request
}

func newCall(c *gin.Context) (*call, error) {
	r := c.Request
	var body []byte
	if hasForm(r) {
		if r.ContentLength > maxBody {
			return nil, errBodyTooLarge
		}
		boundRead(c.Writer)
		var err error
		body, err = io.ReadAll(http.MaxBytesReader(c.Writer, r.Body, maxBody))
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return nil, errBodyTooLarge
		}
		if err != nil {
			return nil, wire.BadRequestf("the body cannot be read")
		}
	}
	params, err := wire.ParseParams(r.URL.RawQuery, body)
	if err != nil {
		return nil, err
	}
	return &call{Params: params, request: r}, nil
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
