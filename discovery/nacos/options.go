package nacos

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
)

// Options say which Nacos to ask. Servers or Endpoint is all that is required; the zero
// value of every other field means its default.
type Options struct {
	// Servers are the nodes of one registry: host, host:port, [v6]:port or
	// http(s)://host[:port][/context-path]; the port defaults to 8848.
	Servers []string
	// Endpoint is an address server, host[:port] or http(s)://host[:port], whose
	// list of servers takes the place of Servers; EndpointPort completes one without
	// a port, 0 is 8080.
	Endpoint     string
	EndpointPort int
	// ServerListRefresh is how often that list is asked for again, and the servers'
	// names are looked up again; 0 is 30 s.
	ServerListRefresh time.Duration
	// ContextPath stands before every path; "" is "/nacos", "/" is none.
	ContextPath string
	// Namespace is the namespace id for services that name none; "" is "public".
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
	// Push has the registry tell of changes.
	Push Push
	// Logger receives what no caller is told; nil discards.
	Logger *slog.Logger

	// Client, when not nil, is used instead of one made from the fields above,
	// and is not closed. It lets the packages of this module share one login.
	Client *nacosclient.Client
}

// Push is about the UDP datagrams with which a Nacos registry announces changed
// lists. It is off by default: the protocol authenticates nobody, so that
// whoever can forge a server's address can forge a list (C-R1).
type Push struct {
	// Enabled opens the socket.
	Enabled bool
	// Port is the UDP port to receive on; 0 is any free one.
	Port int
	// AdvertiseIP is the address literal the registry is told to push to; "" is
	// the local address of the route to the registry.
	AdvertiseIP string
}

func (p Push) validate() error {
	var errs []error
	if p.Port < 0 || p.Port > 65535 {
		errs = append(errs, fmt.Errorf("push port %d is not 0 to 65535", p.Port))
	}
	if p.AdvertiseIP != "" {
		addr, err := netip.ParseAddr(p.AdvertiseIP)
		if err != nil || addr.IsUnspecified() || addr.IsMulticast() {
			errs = append(errs, fmt.Errorf("push advertise IP %q is not the address of a host", p.AdvertiseIP))
		}
	}
	return errors.Join(errs...)
}

// connect returns the client to use and whether it is ours to close.
func (o Options) connect() (client *nacosclient.Client, own bool, err error) {
	if o.Client != nil {
		return o.Client, false, nil
	}
	client, err = nacosclient.New(nacosclient.Options{
		Servers:        o.Servers,
		Endpoint:       o.Endpoint,
		EndpointPort:   o.EndpointPort,
		AccessKey:      o.AccessKey,
		SecretKey:      o.SecretKey,
		MaxRetries:     o.MaxRetries,
		ContextPath:    o.ContextPath,
		Namespace:      o.Namespace,
		Username:       o.Username,
		Password:       o.Password,
		ConnectTimeout: o.ConnectTimeout,
		RequestTimeout: o.RequestTimeout,
		TLS:            o.TLS,
		Logger:         o.Logger,

		ServerListRefresh: o.ServerListRefresh,
	})
	return client, true, err
}
