package testutil

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Request is one request that a [FakeNacos] received, logged before it is
// answered or the fault of it is played.
type Request struct {
	Time   time.Time
	Method string
	// Path is the whole path, context path included.
	Path   string
	Header http.Header
	// Query and Form are the parameters by where they came from.
	Query, Form url.Values
}

func newRequest(r *http.Request) (Request, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return Request{}, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return Request{}, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return Request{}, err
	}
	return Request{
		Time: time.Now(), Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Query: query, Form: form,
	}, nil
}

// Param returns a parameter from the query or else the form.
func (r Request) Param(name string) string {
	if v := r.Query.Get(name); v != "" {
		return v
	}
	return r.Form.Get(name)
}

// Is reports whether the request goes to a path below /v1, such as
// "/ns/instance/beat". An empty method matches all.
func (r Request) Is(method, path string) bool {
	_, below, found := strings.Cut(r.Path, "/v1")
	return found && below == path && (method == "" || method == r.Method)
}

// Requests returns the logged requests to a path below /v1, in order; empty
// method and path match all.
func (f *FakeNacos) Requests(method, path string) []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []Request
	for _, r := range f.log {
		if path == "" && (method == "" || method == r.Method) || r.Is(method, path) {
			found = append(found, r)
		}
	}
	return found
}

// Beats returns the logged beats.
func (f *FakeNacos) Beats() []Request { return f.Requests(http.MethodPut, "/ns/instance/beat") }

// ForgetRequests empties the log.
func (f *FakeNacos) ForgetRequests() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = slices.Delete(f.log, 0, len(f.log))
}

// record logs a request and returns the fault to play for it.
func (f *FakeNacos) record(r Request) *Fault {
	f.mu.Lock()
	f.log = append(f.log, r)
	fault := f.fault
	f.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(r)
}
