package autoconfig

import (
	"context"
	"net"
	"sync/atomic"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
	nacosregistry "github.com/rollcall-go/rollcall/registry/nacos"
)

// inside is what the actuator shows and a reload changes. It is filled in before
// the application starts, and not taken apart into parameters of the web server: a
// component of the user's that knows the web server and takes part in one of these
// would close a circle.
type inside struct {
	discovery    *discovery.Client                 // nil without
	balancer     *loadbalance.LoadBalancer         // nil without
	registration *registry.AutoServiceRegistration // nil without
	nacos        *nacosParts                       // nil without

	// local describes this process.
	local func() localView

	// webPort and managementPort are the ports that are listened on, 0 until then.
	webPort, managementPort atomic.Int32
}

// nacosParts are what speaks to a Nacos registry.
type nacosParts struct {
	client   *nacosclient.Client
	registry *nacosregistry.Registry
}

// listening notes the ports.
func (i *inside) listening(_ context.Context, e registry.WebServerStarted) error {
	port := &i.webPort
	if e.Namespace == registry.NamespaceManagement {
		port = &i.managementPort
	}
	if tcp, ok := e.Addr.(*net.TCPAddr); ok {
		port.Store(int32(tcp.Port))
	}
	return nil
}

// parts are what has to be constructed before the web server, so that it is
// closed after it; each is nil when its condition does not hold.
type parts struct {
	fx.In

	Bus          *EventBus
	Registrar    *registrar
	Inside       *inside
	Discovery    *discovery.Client                 `optional:"true"`
	Balancer     *loadbalance.LoadBalancer         `optional:"true"`
	HTTPClient   *loadbalance.HTTPClient           `optional:"true"`
	Registration *registry.AutoServiceRegistration `optional:"true"`
	Nacos        *nacosParts                       `optional:"true"`
}

// constructParts is the first of the invokes at the root. The registration gets
// to hear of the web server.
func constructParts(s *settings) func(parts) error {
	return func(p parts) error {
		i := p.Inside
		i.discovery, i.balancer, i.registration, i.nacos = p.Discovery, p.Balancer, p.Registration, p.Nacos
		Subscribe(p.Bus, i.listening)
		if p.Registration == nil {
			if s.serviceRegistry.AutoRegistration.FailFast {
				return errNoRegistration
			}
			return nil
		}
		p.Registrar.registration = p.Registration
		Subscribe(p.Bus, func(ctx context.Context, e registry.WebServerStarted) error {
			return s.explainFailFast(ctx, p.Registration.OnWebServerStarted(ctx, e))
		})
		return nil
	}
}
