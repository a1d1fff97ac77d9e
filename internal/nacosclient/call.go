package nacosclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Bounds of what is read of an answer.
const (
	smallAnswer = 1 << 20
	listAnswer  = 64 << 20
	errorAnswer = 4 << 10
)

// request is one call, whatever server it ends up at.
type request struct {
	method, path string
	// query holds all parameters but those of form, which are too long or too
	// secret for a request line: the beat and the password.
	query, form url.Values
	// limit bounds the answer in bytes.
	limit int64
	// decode reads the body of a 2xx answer. An error is the server's failure:
	// the next one is asked.
	decode func(body []byte) error
	// secret keeps the answer out of errors, unsigned the access key out of the
	// request.
	secret, unsigned bool
}

func (r request) String() string { return r.method + " " + r.path }

// call sends the request with a token where there is a login.
func (c *Client) call(ctx context.Context, r request) error {
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	if err := c.ready(ctx); err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	token := c.token(ctx)
	renewed := false
	return c.visit(ctx, r, func(ctx context.Context, e endpoint) error {
		err := c.send(ctx, e, r, token)
		if statusOf(err) != http.StatusForbidden || renewed || !c.session.wanted() {
			return err
		}
		// The token ended early, or the server lost its key: one forced login and
		// one repeat per call (C-R10).
		renewed = true
		fresh := c.login(ctx, token)
		if fresh == token {
			return errors.Join(err, c.LoginError())
		}
		token = fresh
		return c.send(ctx, e, r, token)
	})
}

// visit tries the servers in turn until one answers (C-R9). While others are
// left to ask, one may use at most half of the remaining time, so that a single
// dead server never consumes a short deadline. A lone server is asked again
// where that can help.
func (c *Client) visit(ctx context.Context, r request, try func(context.Context, endpoint) error) error {
	order := c.servers.order(time.Now())
	alone, attempts := len(order) == 1, len(order)
	if alone {
		attempts = c.options.MaxRetries
	}
	var errs []error
	for n := range attempts {
		if alone && n > 0 && !pause(ctx, retryPause<<min(n-1, mostDoublings)) {
			break
		}
		e := order[n%len(order)]
		attempt, cancel := c.boundAttempt(ctx, !alone && n+1 < attempts)
		err := try(attempt, e)
		cancel()
		if err == nil {
			c.servers.report(e, true, time.Now())
			return nil
		}
		if c.ctx.Err() != nil {
			return fmt.Errorf("%s: %w", r, ErrClosed)
		}
		errs = append(errs, err)
		if errors.Is(ctx.Err(), context.Canceled) || final(err) {
			break
		}
		if statusOf(err) != http.StatusForbidden {
			c.servers.report(e, false, time.Now())
		}
		if ctx.Err() != nil || alone && !retryHelps(err) {
			break
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return fmt.Errorf("%s failed %d times: %w", r, len(errs), errors.Join(distinct(errs)...))
}

// distinct leaves out what says the same as one before it: a lone server that is
// asked again mostly answers as before.
func distinct(errs []error) []error {
	var kept []error
	for _, err := range errs {
		if !slices.ContainsFunc(kept, func(k error) bool { return k.Error() == err.Error() }) {
			kept = append(kept, err)
		}
	}
	return kept
}

const (
	// retryPause precedes the second request to a lone server, and doubles up to
	// mostDoublings times.
	retryPause    = 100 * time.Millisecond
	mostDoublings = 16
)

// pause reports whether d passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *Client) boundAttempt(ctx context.Context, othersLeft bool) (context.Context, context.CancelFunc) {
	most := c.options.RequestTimeout
	if deadline, ok := ctx.Deadline(); ok && othersLeft {
		most = min(most, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, most)
}

// final reports whether every server would say the same: the request itself is
// wrong. 403, 404 and 429 can be one server's own trouble.
func final(err error) bool {
	switch s := statusOf(err); s {
	case http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		return false
	default:
		return 400 <= s && s < 500
	}
}

// retryHelps reports whether the same server may answer if asked again at once:
// not when it is not there, took too long, or refused for a reason that stays.
func retryHelps(err error) bool {
	switch s := statusOf(err); s {
	case 0:
		return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, context.DeadlineExceeded)
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// statusOf returns the HTTP status of a failed request, 0 where there is none.
func statusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// statusesOf returns the statuses of all servers that an error is made of, each
// once and sorted: where several are asked, the first one is a matter of chance.
func statusesOf(err error) []int {
	var all interface{ Unwrap() []error }
	if !errors.As(err, &all) {
		return []int{statusOf(err)}
	}
	var statuses []int
	for _, e := range all.Unwrap() {
		statuses = append(statuses, statusesOf(e)...)
	}
	slices.Sort(statuses)
	return slices.Compact(statuses)
}

// send makes one request to one server. Its errors are [*Error].
func (c *Client) send(ctx context.Context, e endpoint, r request, token string) error {
	failed := &Error{Request: r.String(), Server: e.entry}
	req, err := c.httpRequest(ctx, e, r, token)
	if err != nil {
		failed.Err = err
		return failed
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		failed.Err = err
		return failed
	}
	defer func() { _ = resp.Body.Close() }()
	failed.Answered = true
	limit := r.limit
	if resp.StatusCode/100 != 2 {
		limit = errorAnswer
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if resp.StatusCode/100 != 2 {
		failed.Status, failed.Body, failed.Message = resp.StatusCode, excerpt(body), messageOf(body)
		return failed
	}
	switch {
	case err != nil:
		failed.Err = fmt.Errorf("read the answer: %w", err)
	case int64(len(body)) > limit:
		failed.Err = fmt.Errorf("the answer is larger than %d bytes", limit)
	default:
		if failed.Err = r.decode(body); failed.Err == nil {
			return nil
		}
		failed.Strange = true
		if !r.secret {
			failed.Body = excerpt(body)
		}
	}
	return failed
}

// httpRequest builds the request as the other clients of the protocol do: all
// parameters in the query of every method, and their headers, of which the
// server reads User-Agent.
func (c *Client) httpRequest(ctx context.Context, e endpoint, r request, token string) (*http.Request, error) {
	query := make(url.Values, len(r.query)+4)
	maps.Copy(query, r.query)
	if token != "" {
		query.Set("accessToken", token)
	}
	if c.options.AccessKey != "" && !r.unsigned {
		c.options.sign(query, time.Now())
	}
	target := e.base + r.path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var body io.Reader
	if len(r.form) > 0 {
		body = strings.NewReader(r.form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded;charset=UTF-8")
	}
	req.Header.Set("User-Agent", wire.ClientAgent)
	req.Header.Set("Client-Version", wire.ClientAgent)
	req.Header.Set("RequestId", uuid.NewString())
	req.Header.Set("Request-Module", "Naming")
	return req, nil
}
