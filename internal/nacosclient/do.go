package nacosclient

import (
	"context"
	"net/url"
)

// Call is a call of the HTTP API that has no method of its own.
type Call struct {
	// Method and Path, the latter below the context path.
	Method, Path string
	// Query and Form are the parameters; Form is for what is secret or long.
	Query, Form url.Values
	// Secret keeps the answer out of errors.
	Secret bool
	// Decode reads the body of an answer of 2xx; its error fails the call.
	Decode func(body []byte) error
}

// Do makes a call: with a token where there is a login, on another server where
// one fails. Errors of single servers are [*Error].
func (c *Client) Do(ctx context.Context, call Call) error {
	return c.call(ctx, request{
		method: call.Method, path: call.Path, query: call.Query, form: call.Form,
		limit: listAnswer, decode: call.Decode, secret: call.Secret,
	})
}
