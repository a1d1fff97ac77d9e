package api

import (
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/push"
	"github.com/rollcall-go/rollcall/server/shed"
	"github.com/rollcall-go/rollcall/server/state"
)

// Pusher is the part of a [push.Server] that requests need.
type Pusher interface {
	// Subscribe makes the sender of a list request a push target, if it can be one.
	Subscribe(push.Request) bool
	// Subscribers lists the subscriptions of services.
	Subscribers(match func(wire.ServiceKey) bool) []push.Subscriber
	// Counts are the datagrams since the start.
	Counts() push.Counts
	// Pending lists datagrams that wait for an acknowledgement, at most so many.
	Pending(most int) []push.Pending
}

// Options says what an [API] needs. All but Node, Unready, Shed and Logger are
// required.
type Options struct {
	// Store holds the services.
	Store *naming.Store
	// Switches are the settings that can be changed while the server runs; the
	// same that the store has.
	Switches *naming.Switches
	// State is the replicated state that persistent instances, settings and users
	// are read from; whoever applies it brings it to Store and Switches before a
	// proposal returns.
	State *state.State
	// Proposer changes that state.
	Proposer state.Proposer
	// Push takes subscriptions.
	Push Pusher
	// Auth knows who callers are. It is needed for logins also while
	// authentication is off.
	Auth Authenticator
	// AuthEnabled refuses what a route's Access does not allow.
	AuthEnabled bool
	// Node says who this server is; nil is 127.0.0.1:8848.
	Node func() Node
	// Unready says what is missing for naming calls to be accepted, in words for
	// an operator; nil or nothing is ready. While something is missing they are
	// answered with 503.
	Unready func() []string
	// Limited says what does not work though the server is ready; nil or nothing
	// is all works.
	Limited func() string
	// Stopping says that the server wants no new traffic but answers what comes;
	// nil is never.
	Stopping func() bool
	// Shed turns requests away when there are too many; nil takes all.
	Shed *shed.Shedder
	// Logger gets internal errors; nil discards them.
	Logger *slog.Logger
}

// API answers requests. It is safe for concurrent use.
type API struct {
	store    *naming.Store
	switches *naming.Switches
	state    *state.State
	proposer state.Proposer
	push     Pusher
	auth     Authenticator
	authOn   bool
	node     func() Node
	loading  func() []string
	limited  func() string
	stopping func() bool
	shed     *shed.Shedder
	logger   *slog.Logger
	// switching has room for one change of a stored switch.
	switching chan struct{}
	walks     *walks
	// pushBase are the counts when an operator reset them; nil for never.
	pushBase atomic.Pointer[push.Counts]
}

// New returns an API; [API.Mount] puts it on an engine.
func New(o Options) (*API, error) {
	if o.Store == nil || o.Switches == nil || o.State == nil || o.Proposer == nil || o.Push == nil || o.Auth == nil {
		return nil, errors.New("api: Store, Switches, State, Proposer, Push and Auth are required")
	}
	if o.Node == nil {
		o.Node = func() Node { return Node{IP: "127.0.0.1", Port: defaultNodePort} }
	}
	if o.Unready == nil {
		o.Unready = func() []string { return nil }
	}
	if o.Limited == nil {
		o.Limited = func() string { return "" }
	}
	if o.Stopping == nil {
		o.Stopping = func() bool { return false }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &API{
		store: o.Store, switches: o.Switches, state: o.State, proposer: o.Proposer, push: o.Push,
		switching: make(chan struct{}, 1),
		walks:     newWalks(),
		auth:      o.Auth, authOn: o.AuthEnabled, node: o.Node, loading: o.Unready, limited: o.Limited, stopping: o.Stopping, shed: o.Shed, logger: o.Logger,
	}, nil
}

// defaultNodePort is Nacos' port.
const defaultNodePort = 8848

// Mount adds the routes to an engine, with and without a trailing slash, and
// answers whatever no route matches. The engine sees paths without the context
// path. It must not redirect, as clients take a redirect for a failure, so Mount
// switches that off.
func (a *API) Mount(engine *gin.Engine) {
	engine.RedirectTrailingSlash = false
	engine.RedirectFixedPath = false
	engine.HandleMethodNotAllowed = false
	engine.Use(plain, bound)
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
