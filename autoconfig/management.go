package autoconfig

import (
	"log/slog"
	"math"
	"strconv"

	"github.com/gin-gonic/gin"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/internal/httpserver"
	"github.com/rollcall-go/rollcall/registry"
)

// ManagementServer is the web server of the actuator, where management.server.port
// gives it one of its own. It listens before the application's and neither causes
// a registration nor gives it its port (A-R3).
type ManagementServer struct{ *WebServer }

type managementServerParams struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Shutdowner fx.Shutdowner
	Management ManagementProperties
	Actuator   *actuator
	Publisher  registry.Publisher
	Loggers    *Loggers
	Logger     *slog.Logger
	Wrap       WrapListener `optional:"true"`
}

func provideManagementServer(b *boot) any {
	return func(p managementServerParams) (*ManagementServer, error) {
		logger := p.Loggers.Named(loggerWeb, p.Logger)
		e, err := plainEngine()
		if err != nil {
			return nil, err
		}
		e.Use(boundTime, recoverPanics(sampled(p.Lifecycle, logger)))
		if err := p.Actuator.mount(e); err != nil {
			return nil, err
		}
		m := p.Management.Server
		web := NewWebServer(WebServerOptions{
			Properties: ServerProperties{
				Address: m.Address, Port: m.Port, ContextPath: m.ContextPath,
				Shutdown: ShutdownGraceful, ShutdownTimeout: managementShutdown,
			},
			Namespace: registry.NamespaceManagement, Handler: e, Listener: b.management,
			Wrap: p.Wrap, Publisher: p.Publisher, Logger: logger,
			OnFailure: func(error) { _ = p.Shutdowner.Shutdown(fx.ExitCode(1)) },
		})
		p.Lifecycle.Append(fx.Hook{OnStart: web.Start, OnStop: web.Stop})
		return &ManagementServer{web}, nil
	}
}

// boundTime is for the whole engine: no request to the actuator takes long to send,
// nor its answer to read.
func boundTime(c *gin.Context) { httpserver.BoundTime(c.Writer, c.Request) }

// Keys of the metadata that tell where the actuator is; Spring's.
const (
	metadataManagementPort        = "management.port"
	metadataManagementContextPath = "management.context-path"
	metadataManagementAddress     = "management.address"
	metadataManagementBasePath    = "management.endpoints.web.base-path"
)

// managementCustomizer adds them (client-behaviour B.3), with the port that is
// listened on. What the user wrote wins, and so do customizers of the user's.
func managementCustomizer(s *settings, i *inside) registry.Customizer {
	separate := s.managementServer().holds
	return registry.Customizer{Name: "management", Order: math.MinInt, Customize: func(r *registry.Registration) error {
		m := s.management
		port, contextPath, address := i.webPort.Load(), s.server.ContextPath, ""
		if separate {
			port, contextPath, address = i.managementPort.Load(), m.Server.ContextPath, m.Server.Address
		}
		if port == 0 {
			return nil // nobody listens, so there is nothing to be found
		}
		add := func(key, value string) {
			if _, theirs := r.Metadata[key]; !theirs && value != "" {
				r.Metadata[key] = value
			}
		}
		if r.Metadata == nil {
			r.Metadata = map[string]string{}
		}
		add(metadataManagementPort, strconv.Itoa(int(port)))
		add(metadataManagementContextPath, plainPath(contextPath))
		add(metadataManagementAddress, address)
		if base := m.basePath(); base != defaultBasePath {
			add(metadataManagementBasePath, base)
		}
		return nil
	}}
}
