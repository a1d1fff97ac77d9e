package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/auth"
)

// Authenticator is the part of an [auth.Authenticator] that requests need.
type Authenticator interface {
	Login(ctx context.Context, c auth.Credentials) (auth.Session, error)
	Authenticate(ctx context.Context, c auth.Credentials) (auth.Principal, error)
	Authorize(p auth.Principal, r auth.Resource, action auth.Action) error
	IsAdmin(p auth.Principal) bool
}

// credentials are all of a request that has a say in who its sender is. What a
// header claims about addresses or other servers is not among it (SB-17).
func (c *call) credentials() auth.Credentials {
	return auth.Credentials{
		Authorization: c.request.Header.Get("Authorization"),
		AccessToken:   c.Get("accessToken"),
		HeaderToken:   c.request.Header.Get("accessToken"),
		Username:      c.Get("username"),
		Password:      c.Get("password"),
		Client:        requester(c.request),
	}
}

// authorize lets a request through to its route or says why not. While
// authentication is off everything passes.
func (a *API) authorize(r Route, c *call) error {
	if !a.authOn || r.Access.kind == openAccess {
		return nil
	}
	credentials := c.credentials()
	if r.TokenOnly {
		credentials.Username, credentials.Password = "", ""
	}
	user, err := a.auth.Authenticate(c.request.Context(), credentials)
	if err != nil {
		return err
	}
	c.user = user
	if r.Access.kind == signedInAccess {
		return nil
	}
	resource, err := r.Access.resource(c)
	if err != nil {
		return err
	}
	return a.auth.Authorize(user, resource, r.Access.action)
}

// mayRead says whether the caller may read a service, for answers about several.
func (a *API) mayRead(c *call, k wire.ServiceKey) bool {
	if !a.authOn {
		return true
	}
	return a.auth.Authorize(c.user, auth.NamingResource(k.Namespace, k.Group, k.Name), auth.Read) == nil
}

// refused answers what package auth has refused, in the JSON form that Nacos'
// filters give; ok is false when the error is none of that kind.
func refused(c *gin.Context, err error) (ok bool) {
	var refusal auth.Refusal
	var tooMany *auth.TooManyError
	switch {
	case errors.As(err, &refusal):
		writeError(c, http.StatusForbidden, refusal.Error(), requestURI(c.Request))
	case errors.As(err, &tooMany):
		retryAfter(c, tooMany)
		writeError(c, http.StatusTooManyRequests, tooMany.Error(), requestURI(c.Request))
	default:
		return false
	}
	return true
}

func retryAfter(c *gin.Context, err *auth.TooManyError) {
	seconds := int(math.Ceil(err.RetryAfter.Seconds()))
	c.Header("Retry-After", strconv.Itoa(max(seconds, 1)))
}
