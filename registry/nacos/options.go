package nacos

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
)

// Options say which Nacos to register with. Servers or Endpoint is all that is required;
// the zero value of every other field means its default.
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
	// Namespace is the namespace id for registrations whose service names none;
	// "" is "public".
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
	// AllowShortBeat admits beat intervals below one second, which are refused
	// otherwise because they are mostly seconds written into a field of
	// milliseconds (C-R16).
	AllowShortBeat bool
	// Watch adopts what an operator changes at the registry.
	Watch Watch
	// Logger receives what no caller is told; nil discards.
	Logger *slog.Logger

	// Client, when not nil, is used instead of one made from the fields above,
	// and is not closed. It lets the packages of this module share one login.
	Client *nacosclient.Client
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
