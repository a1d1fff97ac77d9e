package api

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/shed"
)

// answer is what a request gets that was understood.
type answer struct {
	// status is 200 when 0: clients take every other one for a failure.
	status      int
	contentType []string
	body        []byte
	// authorization is the header of that name; a login has one.
	authorization string
	// more follows the body. Answers that share memory are not joined for sending.
	more [2][]byte
}

// The header values are shared by all answers; nobody changes them.
var (
	textType = []string{"text/plain;charset=UTF-8"}
	jsonType = []string{"application/json;charset=UTF-8"}
	nosniff  = []string{"nosniff"}
	noStore  = []string{"no-store"}
)

// ok is the answer of most changes, without a newline.
var ok = text("ok")

func text(s string) answer { return answer{contentType: textType, body: []byte(s)} }

// jsonBytes is an answer that is encoded already.
func jsonBytes(b []byte) answer { return answer{contentType: jsonType, body: b} }

// jsonOf is an answer of a value in Nacos' form.
func jsonOf(v any) (answer, error) {
	b, err := wire.Marshal(v)
	if err != nil {
		return answer{}, fmt.Errorf("encode the answer: %w", err)
	}
	return jsonBytes(b), nil
}

// plain keeps browsers from taking an answer for anything but what it says it is
// (SB-19). It is a middleware of the whole engine, so that an answer nobody here
// writes has it as well.
func plain(c *gin.Context) { c.Writer.Header()["X-Content-Type-Options"] = nosniff }

func write(c *gin.Context, status int, a answer) {
	h := c.Writer.Header()
	if a.contentType != nil {
		h["Content-Type"] = a.contentType
	}
	if a.authorization != "" {
		h.Set("Authorization", a.authorization)
		h["Cache-Control"] = noStore
	}
	c.Status(status)
	if len(a.body) == 0 {
		c.Writer.WriteHeaderNow()
		return
	}
	if a.more[0] != nil { // otherwise the web server counts itself
		h.Set("Content-Length", strconv.Itoa(len(a.body)+len(a.more[0])+len(a.more[1])))
	}
	// The client may be gone; there is nobody left to tell.
	_, err := c.Writer.Write(a.body)
	for _, part := range a.more {
		if err == nil && part != nil {
			_, err = c.Writer.Write(part)
		}
	}
}

// handler makes a route's gin handler: gate, parameters, whether there is room for
// it, authorisation, answer or error. Only what lies between reading the request
// and sending the answer takes a place, so that a slow client takes none.
func (a *API) handler(r Route) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !r.Always && !a.gate(c) {
			return
		}
		call, err := newCall(c)
		if err != nil {
			a.fail(c, err)
			return
		}
		answer, err := a.serve(r, call)
		if err != nil {
			a.fail(c, err)
			return
		}
		write(c, cmp.Or(answer.status, http.StatusOK), answer)
	}
}

// serve has a route answer a request, if there is room for it.
func (a *API) serve(r Route, c *call) (answer, error) {
	if kind, is := r.load(); is {
		if !a.shed.Enter(kind) {
			if kind == shed.Beat {
				a.store.BeatTurnedAway()
			}
			return answer{}, errTooMuch
		}
		defer a.shed.Leave(kind)
	}
	if err := a.authorize(r, c); err != nil {
		return answer{}, err
	}
	return r.handle(c)
}
