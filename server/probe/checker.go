package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Type is how a target is asked.
type Type string

// The types of Nacos.
const (
	// TCP targets accept a connection. It is the type of clusters that name none.
	TCP Type = "TCP"
	// HTTP targets answer a GET with the expected status.
	HTTP Type = "HTTP"
	// MySQL targets run a command, and may have to be the one that is written to.
	MySQL Type = "MYSQL"
	// None targets are not asked; their health is what an operator says.
	None Type = "NONE"
)

// maxCheckerSize bounds the JSON of a checker, in bytes.
const maxCheckerSize = 8 << 10

// Checker is the health checker of a cluster. Values can be compared; the zero
// Checker is that of type [TCP].
type Checker struct {
	// Type says which of the other members count.
	Type Type
	// Path is the path and query of an HTTP probe; blank is "/".
	Path string
	// Headers are the headers of an HTTP probe, "k:v|k2:v2".
	Headers string
	// ExpectedStatus is the status of an HTTP target that is well; 0 is 200.
	ExpectedStatus int
	// User and Password are what a MySQL probe logs in with.
	User, Password string
	// Command is what a MySQL probe runs.
	Command string
}

// checkerJSON is a checker on the wire, in Nacos' words.
type checkerJSON struct {
	Type    Type    `json:"type"`
	Path    *string `json:"path,omitempty"`
	Headers *string `json:"headers,omitempty"`
	Status  *int    `json:"expectedResponseCode,omitempty"`
	User    *string `json:"user,omitempty"`
	Pwd     *string `json:"pwd,omitempty"`
	Cmd     *string `json:"cmd,omitempty"`
}

// ParseChecker reads the JSON of a checker (Nacos HTTP v1: cluster). The case of
// the type does not matter and an unknown one is [None]; members of other types
// are ignored. JSON that is none, and members that no probe could be made of, are
// a [wire.BadRequest].
func ParseChecker(text string) (Checker, error) {
	if len(text) > maxCheckerSize {
		return Checker{}, wire.BadRequestf("health checker incorrect: more than %d bytes", maxCheckerSize)
	}
	var j struct {
		Type    *string `json:"type"`
		Path    string  `json:"path"`
		Headers string  `json:"headers"`
		Status  status  `json:"expectedResponseCode"`
		User    string  `json:"user"`
		Pwd     string  `json:"pwd"`
		Cmd     string  `json:"cmd"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&j); err != nil {
		return Checker{}, malformed(text)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || j.Type == nil {
		return Checker{}, malformed(text)
	}
	c := Checker{Type: Type(strings.ToUpper(strings.TrimSpace(*j.Type)))}
	switch c.Type {
	case TCP:
	case HTTP:
		c.Path, c.Headers, c.ExpectedStatus = strings.TrimSpace(j.Path), strings.TrimSpace(j.Headers), int(j.Status)
	case MySQL:
		c.User, c.Password, c.Command = j.User, j.Pwd, strings.TrimSpace(j.Cmd)
	default:
		c.Type = None
	}
	return c, c.check()
}

func malformed(text string) error {
	return wire.BadRequestf("health checker incorrect: %s", wire.Excerpt(text))
}

// status accepts a number, the same as text, and null.
type status int

func (s *status) UnmarshalJSON(b []byte) error {
	text := string(bytes.Trim(b, `"`))
	if text == "null" || text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	*s = status(n)
	return err
}

// check says whether a probe can be made of the checker.
func (c Checker) check() error {
	switch c.Type {
	case HTTP:
		if _, err := c.target(); err != nil {
			return err
		}
		if _, err := c.header(); err != nil {
			return err
		}
		if c.ExpectedStatus != 0 && (c.ExpectedStatus < 200 || c.ExpectedStatus > 599) {
			return wire.BadRequestf("health checker incorrect: expectedResponseCode %d", c.ExpectedStatus)
		}
	case MySQL:
		if c.Command == "" {
			return wire.BadRequest("health checker incorrect: a MYSQL checker needs a cmd")
		}
	}
	return nil
}

// target returns path and query of an HTTP probe. They are parsed on their own
// and not as the end of an address, so that no path changes the host.
func (c Checker) target() (*url.URL, error) {
	path := c.Path
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	u, err := url.ParseRequestURI(path)
	if err != nil || u.Host != "" || strings.ContainsFunc(path, notTargetRune) {
		return nil, wire.BadRequestf("health checker incorrect: path %s", wire.Excerpt(c.Path))
	}
	return u, nil
}

// notTargetRune is what a request line does not have within its target.
func notTargetRune(r rune) bool { return r <= ' ' || r >= 0x7f }

// header returns the headers of an HTTP probe.
func (c Checker) header() (http.Header, error) {
	h := http.Header{}
	for piece := range strings.SplitSeq(c.Headers, "|") {
		if piece = strings.TrimSpace(piece); piece == "" {
			continue
		}
		name, value, ok := strings.Cut(piece, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsFunc(name, notTokenRune) || strings.ContainsFunc(value, notFieldRune) {
			return nil, wire.BadRequestf("health checker incorrect: header %s", wire.Excerpt(piece))
		}
		switch name = http.CanonicalHeaderKey(name); name {
		case "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "Expect":
			return nil, wire.BadRequestf("health checker incorrect: a probe has no header %s", name)
		}
		h.Add(name, value)
	}
	return h, nil
}

// notTokenRune is what a header name does not have (RFC 9110, 5.6.2).
func notTokenRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("!#$%&'*+-.^_`~", r)
}

// notFieldRune is what a header value does not have (RFC 9110, 5.5).
func notFieldRune(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// MarshalJSON implements json.Marshaler: what [ParseChecker] reads, with the
// password. Members are in Nacos' order, and those of other types are left out.
func (c Checker) MarshalJSON() ([]byte, error) {
	j := checkerJSON{Type: c.kind()}
	switch j.Type {
	case HTTP:
		code := c.expected()
		j.Path, j.Headers, j.Status = &c.Path, &c.Headers, &code
	case MySQL:
		j.User, j.Pwd, j.Cmd = &c.User, &c.Password, &c.Command
	}
	return wire.Marshal(j)
}

// UnmarshalJSON implements json.Unmarshaler by [ParseChecker].
func (c *Checker) UnmarshalJSON(text []byte) (err error) {
	*c, err = ParseChecker(string(text))
	return err
}

// WithoutPassword returns the checker as those may see it who may only read.
func (c Checker) WithoutPassword() Checker {
	c.Password = ""
	return c
}

// kind is the type, with TCP for none.
func (c Checker) kind() Type {
	if c.Type == "" {
		return TCP
	}
	return c.Type
}

// expected is the status of an HTTP target that is well.
func (c Checker) expected() int {
	if c.ExpectedStatus == 0 {
		return http.StatusOK
	}
	return c.ExpectedStatus
}
