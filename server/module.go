package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/server/api"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/push"
)

// Module makes an application a registry server: given to autoconfig.Run, it
// serves Nacos' HTTP v1 on port 8848 below /nacos, unless the configuration says
// otherwise, and reads the block nacos. It looks up and registers nothing itself.
//
// It provides *naming.Store, *naming.Switches and *push.Server. They are ready
// before the web server listens and closed after it has stopped.
var Module = autoconfig.Options(
	autoconfig.Default("application.name", "rollcall"),
	autoconfig.Default("server.port", 8848),
	autoconfig.Default("server.context-path", "/nacos"),
	autoconfig.Default("server.lame-duck", "1s"),
	autoconfig.Default("cloud.discovery.enabled", false),
	autoconfig.Properties("nacos", DefaultProperties()),
	fx.Module("server",
		fx.Decorate(queueLogs),
		fx.Provide(naming.NewSwitches, newStore, newPush, newAPI, limitConnections),
		fx.Provide(fx.Private, newReadiness),
		fx.Invoke(check, mount, announce),
	),
)

// check runs before anything is created that would have to be closed again.
func check(web autoconfig.ServerProperties) error {
	if web.Port < 0 {
		return errors.New("server.port: a registry needs its web server, so it cannot be -1")
	}
	return nil
}

func newStore(
	lc fx.Lifecycle, p Properties, switches *naming.Switches, logger *slog.Logger, registerer prometheus.Registerer,
) *naming.Store {
	o := p.naming()
	o.Switches, o.Logger, o.Registerer = switches, logger, registerer
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
	server, err := push.New(o)
	if err != nil {
		return nil, err
	}
	store.OnChange(server.Change)
	lc.Append(fx.StopHook(server.Close))
	return server, nil
}

// readiness is true from when the web server listens until it is about to stop.
type readiness struct{ atomic.Bool }

func newReadiness() *readiness { return &readiness{} }

func newAPI(
	store *naming.Store, switches *naming.Switches, push *push.Server, ready *readiness, logger *slog.Logger,
) (*api.API, error) {
	return api.New(api.Options{Store: store, Switches: switches, Push: push, Ready: ready.Load, Logger: logger})
}

func mount(a *api.API, engine *gin.Engine) { a.Mount(engine) }

type announceParams struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Web        *autoconfig.WebServer
	Properties autoconfig.ServerProperties
	Ready      *readiness
	Logger     *slog.Logger
}

// announce says where the server is and what is not to be expected of it. Its
// hook comes after the web server's, as it takes that as a parameter, so it runs
// when the server listens and again before it stops.
func announce(p announceParams) {
	p.Lifecycle.Append(fx.Hook{
		OnStart: func(context.Context) error {
			p.Ready.Store(true)
			p.Logger.Info("registry serves", "url", baseURL(p.Web.Addr(), p.Properties.ContextPath),
				"version", Version(), "protocol", "Nacos "+api.ProtocolVersion)
			p.Logger.Warn("services, instances and switches are held in memory only and end with this process")
			p.Logger.Warn("authentication is off: whoever reaches this address can read and change everything")
			return nil
		},
		OnStop: func(context.Context) error {
			p.Ready.Store(false)
			p.Logger.Info("registry stops")
			return nil
		},
	})
}

// baseURL is where a client on this machine finds the server.
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
