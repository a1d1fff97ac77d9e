package nacos

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
)

// Connection says which Nacos to speak to, and how. It is the same for registering
// and for looking up: discovery/nacos has it in its options too, and one value does
// for both. Servers or Endpoint is all that is required; the zero value of every
// other field means its default.
type Connection struct {
	// Servers are the nodes of one registry: host, host:port, [v6]:port or
	// http(s)://host[:port][/context-path]; the port defaults to 8848.
	Servers []string
	// Endpoint is an address server, host[:port] or http(s)://host[:port], whose
	// list of servers takes the place of Servers.
	Endpoint string
	// EndpointPort completes an Endpoint without a port; 0 is 8080.
	EndpointPort int
	// ServerListRefresh is how often that list is asked for again, and the servers'
	// names are looked up again; 0 is 30 s.
	ServerListRefresh time.Duration
	// ContextPath stands before every path; "" is "/nacos", "/" is none.
	ContextPath string
	// Namespace is the namespace id of services that name none; "" is "public".
	Namespace string
	// Username and Password are for the token login; no Username, no login.
	Username, Password string
	// AccessKey and SecretKey sign each request, for registries that want that.
	AccessKey, SecretKey string
	// ConnectTimeout bounds making a connection; 0 is 3 s.
	ConnectTimeout time.Duration
	// RequestTimeout bounds a request to one server, a whole call takes at most
	// twice as long; 0 is 5 s.
	RequestTimeout time.Duration
	// MaxRetries is how often a request is sent at most to a registry of one node; 0
	// is 3. Of several nodes, each is asked once.
	MaxRetries int
	// TLS makes https the scheme of servers that name none.
	TLS *tls.Config

	// Client, when not nil, is used instead of one made from the fields above,
	// and is not closed. It lets the packages of this module share one login.
	Client *nacosclient.Client
}

// Open returns the client to use and whether it is the caller's to close: it is
// not where it was given as Client. For the packages of this module.
func (c Connection) Open(logger *slog.Logger) (client *nacosclient.Client, own bool, err error) {
	if c.Client != nil {
		return c.Client, false, nil
	}
	client, err = nacosclient.New(nacosclient.Options{
		Servers: c.Servers, Endpoint: c.Endpoint, EndpointPort: c.EndpointPort, ServerListRefresh: c.ServerListRefresh,
		ContextPath: c.ContextPath, Namespace: c.Namespace,
		Username: c.Username, Password: c.Password, AccessKey: c.AccessKey, SecretKey: c.SecretKey,
		ConnectTimeout: c.ConnectTimeout, RequestTimeout: c.RequestTimeout, MaxRetries: c.MaxRetries,
		TLS: c.TLS, Logger: logger,
	})
	return client, true, err
}
