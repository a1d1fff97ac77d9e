package server

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/server/api"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/projection"
	"github.com/rollcall-go/rollcall/server/push"
	"github.com/rollcall-go/rollcall/server/shed"
	"github.com/rollcall-go/rollcall/server/state"
)

// Module makes an application a registry server: given to autoconfig.Run, it
// serves Nacos' HTTP v1 on port 8848 below /nacos, unless the configuration says
// otherwise, and reads the block nacos. It looks up and registers nothing itself.
// What is to outlive it is kept in ./rollcall-data.
//
// It provides *naming.Store, *naming.Switches, *state.State, state.Proposer and
// *push.Server. They are ready before the web server listens and closed after it
// has stopped.
var Module = autoconfig.Options(
	autoconfig.Default("application.name", "rollcall"),
	autoconfig.Default("server.port", 8848),
	autoconfig.Default("server.context-path", "/nacos"),
	autoconfig.Default("server.lame-duck", "1s"),
	autoconfig.Default("cloud.discovery.enabled", false),
	autoconfig.Properties("nacos", DefaultProperties()),
	autoconfig.Properties("nacos.admin", DefaultAdminProperties()),
	autoconfig.LogThrough(logThrough),
	fx.Module("server",
		fx.Provide(
			naming.NewSwitches, state.New, newStore, newPush, newAPI, limitConnections,
			func(x *persistence) state.Proposer { return x },
			fx.Annotate(newIndicator, fx.ResultTags(`group:"health.indicators"`)),
		),
		fx.Provide(fx.Private, projection.NewDiscarder, newPersistence, newAccounts, newIdentity, newStopping, newShedder),
		fx.Invoke(Check, mount, serveControl, serveProfiles, announce),
	),
)

func newStore(
	lc fx.Lifecycle, p Properties, switches *naming.Switches, discarder *projection.Discarder,
	logger *slog.Logger, registerer prometheus.Registerer,
) *naming.Store {
	o := p.naming()
	o.Switches, o.Discard, o.Logger, o.Registerer = switches, discarder.Discard, logger, registerer
	store := naming.New(o)
	lc.Append(fx.StopHook(store.Close))
	return store
}

func newPush(
	lc fx.Lifecycle, p Properties, store *naming.Store, switches *naming.Switches,
	logger *slog.Logger, registerer prometheus.Registerer,
) (*push.Server, error) {
	conn, err := push.Listen(p.Push.Address)
	if err != nil {
		return nil, err
	}
	o := p.push()
	o.Conn, o.Source, o.Logger, o.Registerer = conn, api.Pushed(store, switches), logger, registerer
	o.PollInterval = func() time.Duration { return switches.Load().PushCache() }
	server, err := push.New(o)
	if err != nil {
		return nil, err
	}
	store.OnChange(server.Change)
	lc.Append(fx.StartStopHook(func() {
		logger.Info("pushes are sent and acknowledged by UDP", "address", conn.LocalAddr().String())
	}, server.Close))
	return server, nil
}

func newShedder(lc fx.Lifecycle, p Properties, registerer prometheus.Registerer) (*shed.Shedder, error) {
	s, err := shed.New(shed.Options{Places: p.Load.MaxRequests, MaxWait: p.Load.MaxWait, Registerer: registerer})
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StartStopHook(s.Start, s.Close))
	return s, nil
}

type apiParams struct {
	fx.In

	Properties  Properties
	Store       *naming.Store
	Switches    *naming.Switches
	State       *state.State
	Persistence *persistence
	Accounts    *accounts
	Push        *push.Server
	Identity    *identity
	Stopping    *stopping
	Shed        *shed.Shedder
	Logger      *slog.Logger
}

func newAPI(p apiParams) (*api.API, error) {
	return api.New(api.Options{
		Store: p.Store, Switches: p.Switches, State: p.State, Proposer: p.Persistence, Push: p.Push,
		Auth: p.Accounts, AuthEnabled: p.Properties.Core.Auth.Enabled, Node: p.Identity.node,
		Unready: p.Persistence.missing, Limited: p.Persistence.limited, Stopping: p.Stopping.Load,
		Shed: p.Shed, Logger: p.Logger,
	})
}

// newIndicator makes the actuator's readiness say what the API's says.
func newIndicator(a *api.API) autoconfig.HealthIndicator {
	return autoconfig.HealthIndicator{
		Name: "naming", Readiness: true,
		Check: func(context.Context) autoconfig.Health {
			if missing := a.Unready(); len(missing) > 0 {
				return autoconfig.Health{
					Status: autoconfig.HealthOutOfService, Details: map[string]any{"missing": missing},
				}
			}
			return autoconfig.Health{Status: autoconfig.HealthUp}
		},
	}
}

func mount(a *api.API, engine *gin.Engine) { a.Mount(engine) }

// stopping is set when the server is about to stop: it still answers for a while,
// and wants nothing new.
type stopping struct{ atomic.Bool }

func newStopping() *stopping { return &stopping{} }

type announceParams struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Web        *autoconfig.WebServer
	Server     autoconfig.ServerProperties
	Properties Properties
	Identity   *identity
	Stopping   *stopping
	Logger     *slog.Logger
}

// announce says where the server is and what is not to be expected of it. Its
// hook comes after the web server's, as it takes that as a parameter, so it runs
// when the server listens and again before it stops.
func announce(p announceParams) {
	p.Lifecycle.Append(fx.Hook{
		OnStart: func(context.Context) error {
			p.Identity.listens(p.Web.Addr())
			data := p.Properties.Storage.Dir
			if p.Properties.Storage.InMemory {
				data = "memory"
			}
			p.Logger.Info("registry serves", "url", p.url(), "data", data,
				"version", Version(), "protocol", "Nacos "+api.ProtocolVersion)
			if p.Properties.Storage.InMemory {
				p.Logger.Warn("everything is held in memory only and ends with this process")
			}
			if !p.Properties.Core.Auth.Enabled {
				p.Logger.Warn("authentication is off: whoever reaches this address can read and change everything")
			}
			return nil
		},
		OnStop: func(context.Context) error {
			p.Stopping.Store(true)
			p.Logger.Info("registry stops")
			return nil
		},
	})
}

// url is where a client on this machine finds the server.
func (p *announceParams) url() string {
	url := baseURL(p.Web.Addr(), p.Server.ContextPath)
	if p.Server.SSL.Enabled() {
		url = "https" + strings.TrimPrefix(url, "http")
	}
	return url
}

// baseURL is that without TLS.
func baseURL(addr net.Addr, contextPath string) string {
	host := addr.String()
	if tcp, ok := addr.(*net.TCPAddr); ok {
		ip := tcp.IP.String()
		if tcp.IP.IsUnspecified() {
			ip = "127.0.0.1"
		}
		host = net.JoinHostPort(ip, strconv.Itoa(tcp.Port))
	}
	return "http://" + strings.TrimSuffix(host+"/"+strings.Trim(contextPath, "/"), "/")
}
