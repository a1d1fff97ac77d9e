// Package adminclient calls what operators need of a Nacos registry's HTTP API:
// what the console calls, of Rollcall or of Nacos itself.
//
// Here belong calls that somebody makes by hand or in a script, each once. What an
// application does to register and look up, with its retries and its login that
// lasts, is package nacosclient.
package adminclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/wire"
)

// ErrNotFound says that the registry does not know what was asked for.
var ErrNotFound = errors.New("not found")

// ErrRefused says that the registry does not let the caller do that.
var ErrRefused = errors.New("refused")

// ErrUnreachable says that no answer came.
var ErrUnreachable = errors.New("the registry does not answer")

// pageSize is how much is asked for at once: Nacos does not promise that two
// pages of a list that changes fit together.
const pageSize = 10_000

// maxPages and maxListed bound a list, far above what one registry holds: one that
// answers every page with more would be asked, and remembered, without an end.
const (
	maxPages  = 1000
	maxListed = 2_000_000
)

// Client is a client for operators. It is safe for concurrent use.
type Client struct{ *nacosclient.Client }

// New returns a client; see [nacosclient.Options]. A request is never repeated by
// itself: the operator sees the error and decides.
func New(o nacosclient.Options) (*Client, error) {
	o.MaxRetries = 1
	c, err := nacosclient.New(o)
	if err != nil {
		return nil, err
	}
	return &Client{c}, nil
}

// do makes a call and says of what kind its error is.
func (c *Client) do(ctx context.Context, call nacosclient.Call) error {
	return Explain(c.Do(ctx, call))
}

// get asks for a JSON document.
func (c *Client) get(ctx context.Context, path string, query url.Values, into any) error {
	return c.do(ctx, nacosclient.Call{Method: http.MethodGet, Path: path, Query: query, Decode: func(body []byte) error {
		if err := json.Unmarshal(body, into); err != nil {
			return fmt.Errorf("is not what was asked for: %w", err)
		}
		return nil
	}})
}

// write sends a change that is answered with "ok", or with the word given.
func (c *Client) write(ctx context.Context, method, path string, query url.Values, answer string) error {
	return c.do(ctx, nacosclient.Call{Method: method, Path: path, Query: query, Decode: func(body []byte) error {
		if got := strings.TrimSpace(string(body)); got != answer {
			return fmt.Errorf("the answer is not %q", answer)
		}
		return nil
	}})
}

// Explain says of what kind the error of a call is: [ErrNotFound], [ErrRefused],
// [ErrUnreachable], or none of these.
func Explain(err error) error {
	failed, ok := errors.AsType[*nacosclient.Error](err)
	if !ok {
		return err
	}
	text := strings.TrimSuffix(strings.TrimPrefix(failed.Message, "caused: "), ";")
	if text == "" {
		text = failed.Error()
	}
	switch {
	case !failed.Answered && failed.Err != nil:
		return &kindError{ErrUnreachable, err, fmt.Sprintf("%s does not answer: %v", failed.Server, failed.Err)}
	case failed.Status == http.StatusNotFound,
		failed.Status == http.StatusInternalServerError && strings.Contains(text, "is not found"): // Nacos
		return &kindError{ErrNotFound, err, text}
	case failed.Status == http.StatusForbidden, failed.Status == http.StatusUnauthorized,
		failed.Status == http.StatusTooManyRequests:
		return &kindError{ErrRefused, err, "refused: " + text}
	case failed.Status != 0 && failed.Status/100 != 2:
		return &kindError{nil, err, text}
	}
	return err
}

// kindError is an error with a kind and a text for people.
type kindError struct {
	kind, cause error
	text        string
}

func (e *kindError) Error() string { return e.text }

func (e *kindError) Unwrap() []error {
	if e.kind == nil {
		return []error{e.cause}
	}
	return []error{e.kind, e.cause}
}

// serviceQuery names a service in the one form that all endpoints and servers
// read alike.
func serviceQuery(k wire.ServiceKey) url.Values {
	return url.Values{"namespaceId": {k.Namespace}, "groupName": {k.Group}, "serviceName": {k.ServiceName.String()}}
}

// pages walks the pages of a list until it has all, and stops at a page that is
// empty: what is deleted meanwhile makes the list shorter. One without an end is an
// error.
func pages(visit func(page url.Values) (got, total int, err error)) error {
	for number, seen := 1, 0; ; number++ {
		got, total, err := visit(url.Values{"pageNo": {strconv.Itoa(number)}, "pageSize": {strconv.Itoa(pageSize)}})
		if err != nil {
			return err
		}
		if seen += got; got == 0 || seen >= total {
			return nil
		}
		if number == maxPages || seen > maxListed {
			return fmt.Errorf("the list does not end: after %d pages with %d entries there are said to be %d", number, seen, total)
		}
	}
}

// merged returns all parameters in one.
func merged(all ...url.Values) url.Values {
	q := url.Values{}
	for _, values := range all {
		for name, v := range values {
			q[name] = v
		}
	}
	return q
}

// Ready reports an error unless the registry wants traffic.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, nacosclient.Call{
		Method: http.MethodGet, Path: "/v1/console/health/readiness", Decode: func([]byte) error { return nil },
	})
}
