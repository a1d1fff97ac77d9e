package api

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/push"
)

// Pusher is the part of a [push.Server] that requests need.
type Pusher interface {
	// Subscribe makes the sender of a list request a push target, if it can be one.
	Subscribe(push.Request) bool
	// Subscribers lists the subscriptions of services.
	Subscribers(match func(wire.ServiceKey) bool) []push.Subscriber
}

// Options says what an [API] needs. Store, Switches and Push are required.
type Options struct {
	// Store holds the services.
	Store *naming.Store
	// Switches are the settings that can be changed while the server runs; the
	// same that the store has.
	Switches *naming.Switches
	// Push takes subscriptions.
	Push Pusher
	// Ready reports whether the server wants traffic; nil is always. It decides
	// the readiness endpoint only: who asks all the same is answered.
	Ready func() bool
	// Logger gets internal errors; nil discards them.
	Logger *slog.Logger
}

// API answers requests. It is safe for concurrent use.
type API struct {
	store    *naming.Store
	switches *naming.Switches
	push     Pusher
	ready    func() bool
	logger   *slog.Logger
}

// New returns an API; [API.Mount] puts it on an engine.
func New(o Options) (*API, error) {
	if o.Store == nil || o.Switches == nil || o.Push == nil {
		return nil, errors.New("api: Store, Switches and Push are required")
	}
	if o.Ready == nil {
		o.Ready = func() bool { return true }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &API{store: o.Store, switches: o.Switches, push: o.Push, ready: o.Ready, logger: o.Logger}, nil
}

// Mount adds the routes to an engine, with and without a trailing slash, and
// answers whatever no route matches. The engine sees paths without the context
// path. It must not redirect, as clients take a redirect for a failure, so Mount
// switches that off.
func (a *API) Mount(engine *gin.Engine) {
	engine.RedirectTrailingSlash = false
	engine.RedirectFixedPath = false
	engine.HandleMethodNotAllowed = false
	engine.Use(boundWrites)
	for _, r := range a.routes() {
		h := a.handler(r)
		engine.Handle(r.Method, r.Path, h)
		engine.Handle(r.Method, r.Path+"/", h)
		if r.Head {
			engine.Handle(http.MethodHead, r.Path, h)
			engine.Handle(http.MethodHead, r.Path+"/", h)
		}
	}
	engine.NoRoute(a.noRoute)
}
