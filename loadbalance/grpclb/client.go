package grpclb

import (
	"net/url"

	"google.golang.org/grpc"

	"github.com/rollcall-go/rollcall/loadbalance"
)

const (
	// Scheme is that of targets which name a service.
	Scheme = "lb"
	// PolicyName is the name by which gRPC knows the balancing of this package. A
	// service config of the caller's own must name it.
	PolicyName = "rollcall"
	// MetadataPort is the metadata key for the port at which an instance serves
	// gRPC (Spring Cloud's gRPC starters write it).
	MetadataPort = "gRPC_port"
	// ServiceConfig is the service config of [DialOptions]. One that adds timeouts,
	// retries or health checks must hold its member loadBalancingConfig, too:
	//
	//	{"loadBalancingConfig": [{"rollcall": {}}], "healthCheckConfig": {"serviceName": ""}}
	ServiceConfig = `{"loadBalancingConfig": [{"` + PolicyName + `": {}}]}`
)

// NewClient returns a connection to a service by its name, or by "GROUP@@name".
// Like grpc.NewClient it connects with the first call. Among the options must be
// transport credentials; they hold for all instances, and with TLS the name of
// the service is what certificates are checked for. Options come after those of
// [DialOptions] and may replace them.
//
// A call fails with the code Unavailable and the text of a
// [loadbalance.NoInstanceError] while the service has no instance to send to, or
// waits for one when it was made with grpc.WaitForReady.
func NewClient(l *loadbalance.LoadBalancer, service string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(Scheme+":///"+url.PathEscape(service), append(DialOptions(l), opts...)...)
}

// DialOptions returns what [NewClient] adds for grpc.NewClient to call targets
// with [Scheme]. Nothing of it is global but for the policy's name: each
// connection knows its own balancer. Connections go through no proxy, since
// instances are addresses inside the network.
func DialOptions(l *loadbalance.LoadBalancer) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithResolvers(resolverBuilder{l}),
		grpc.WithDefaultServiceConfig(ServiceConfig),
		grpc.WithNoProxy(),
		grpc.WithChainUnaryInterceptor(recordCall),
		grpc.WithChainStreamInterceptor(recordStream),
	}
}
