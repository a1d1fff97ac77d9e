package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strconv"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/internal/httpserver"
)

// AdminProperties is the block nacos.admin: what is for those who are logged in
// on the machine itself.
type AdminProperties struct {
	// Pprof offers Go's profiles.
	Pprof PprofProperties `mapstructure:"pprof"`
}

// PprofProperties is the block nacos.admin.pprof.
type PprofProperties struct {
	// Enabled offers Go's profiles on 127.0.0.1 below /debug/pprof/, false.
	Enabled bool `mapstructure:"enabled"`
	// Port is the port for that, 6060; 0 takes a free one, which is logged.
	Port int `mapstructure:"port"`
}

// DefaultAdminProperties returns the defaults of the block nacos.admin.
func DefaultAdminProperties() AdminProperties {
	return AdminProperties{Pprof: PprofProperties{Port: 6060}}
}

// Validate reports every value that cannot work.
func (p *AdminProperties) Validate() error {
	if p.Pprof.Port < 0 || p.Pprof.Port > 65535 {
		return errors.New("pprof.port: must be 0 to 65535")
	}
	return nil
}

// Check reports what is wrong with blocks that are fine each by itself, before
// anything is opened.
func Check(
	web autoconfig.ServerProperties, management autoconfig.ManagementProperties, admin AdminProperties, p Properties,
) error {
	var errs []error
	if web.Port < 0 {
		errs = append(errs, errors.New("server.port: a registry needs its web server, so it cannot be -1"))
	}
	if port := admin.Pprof.Port; admin.Pprof.Enabled && port > 0 {
		switch port {
		case web.Port:
			errs = append(errs, fmt.Errorf("nacos.admin.pprof.port: %d is the server.port", port))
		case management.Server.Port:
			errs = append(errs, fmt.Errorf("nacos.admin.pprof.port: %d is the management.server.port", port))
		}
	}
	if own := management.Server; own.Port > 0 && own.Port == web.Port && own.Address != "" && own.Address != web.Address {
		errs = append(errs, fmt.Errorf(
			"management.server.address: has no effect, as the management.server.port %d is the web server's", own.Port))
	}
	if p.Core.Auth.Enabled {
		errs = append(errs, checkExposure(web, management))
	}
	return errors.Join(errs...)
}

// checkExposure refuses, for a server with authentication, an actuator that shows
// or changes settings for everyone: its endpoints ask nobody who he is. Health and
// metrics are for probes and scrapers, and what listens on the loopback address is
// for those who are on the machine already.
func checkExposure(web autoconfig.ServerProperties, management autoconfig.ManagementProperties) error {
	own := management.Server
	if own.Port >= 0 && (own.Port == 0 || own.Port != web.Port) {
		if address, err := netip.ParseAddr(own.Address); err == nil && address.IsLoopback() {
			return nil
		}
	}
	for _, id := range management.Endpoints.Exposed() {
		if id != "health" && id != "prometheus" {
			return fmt.Errorf("management.endpoints.exposure: %q asks nobody for a token, so it cannot be exposed while"+
				" nacos.core.auth.enabled is true; give the actuator a management.server.port with"+
				" management.server.address 127.0.0.1, or expose health and prometheus only", id)
		}
	}
	return nil
}

// serveProfiles listens on the loopback address while the server runs, if that
// is wanted.
func serveProfiles(lc fx.Lifecycle, p AdminProperties, logger *slog.Logger) {
	if !p.Pprof.Enabled {
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := httpserver.New(mux, logger)
	served := make(chan struct{})
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			var config net.ListenConfig
			l, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Pprof.Port)))
			if err != nil {
				return fmt.Errorf("nacos.admin.pprof: %w", err)
			}
			logger.Info("profiles are offered", "url", "http://"+l.Addr().String()+"/debug/pprof/")
			go func() {
				defer close(served)
				if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
					logger.Error("profiles are not offered any more", "error", err)
				}
			}()
			return nil
		},
		OnStop: func(context.Context) error {
			err := server.Close() // a profile that is being made is nobody's work
			<-served
			return err
		},
	})
}
