package nacosclient

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Options say which registry to talk to and how. The zero value of each field
// but Servers and Endpoint stands for the value [DefaultOptions] has.
type Options struct {
	// Servers are the nodes of one registry, each as host, host:port, [v6]:port
	// or http(s)://host[:port][/context-path] (C-R17). The port of the forms
	// without a scheme defaults to 8848.
	Servers []string
	// Endpoint is an address server, host[:port] or http(s)://host[:port], whose
	// list of servers takes the place of Servers: one a line at /nacos/serverlist.
	// EndpointPort completes one without a port; 0 is 8080.
	Endpoint     string
	EndpointPort int
	// ServerListRefresh is how often the list of an Endpoint is asked for again, and
	// the servers' names are looked up again, while the client is in use; 0 is 30 s.
	ServerListRefresh time.Duration
	// ContextPath stands before every path: "" is "/nacos", "/" is none (C-R18).
	// The path of a server given as a URL wins over it.
	ContextPath string
	// Namespace is the namespace of services that name none; "" is "public".
	Namespace string
	// Username and Password are for the token login; no Username, no login.
	Username, Password string
	// AccessKey and SecretKey sign each request, for registries that want that.
	AccessKey, SecretKey string
	// ConnectTimeout bounds making a connection. It has no effect on an injected
	// Transport.
	ConnectTimeout time.Duration
	// RequestTimeout bounds one request to one server; a call that has to try
	// several takes at most twice as long (C-R9).
	RequestTimeout time.Duration
	// MaxRetries is how often a request is sent at most where there is a single
	// server; where there are several, each is asked once.
	MaxRetries int
	// AppName is sent along for the server's records; may be empty.
	AppName string
	// TLS, when not nil, makes https the scheme of servers that name none. It has
	// no effect on an injected Transport but for that.
	TLS *tls.Config
	// Transport replaces the client's own transport. Close then leaves its
	// connections to whoever owns it.
	Transport http.RoundTripper
	// Lookup looks the servers' names up again; nil is the system's resolver where
	// the Transport is the client's own, and none otherwise.
	Lookup Lookup
	// Logger receives what no caller is told; nil discards.
	Logger *slog.Logger
	// Rand returns a number in [0,n), from several goroutines at once; nil is a
	// random one. It picks the server a request starts with.
	Rand func(n int) int
}

// DefaultOptions returns the defaults of everything but the servers.
func DefaultOptions() Options {
	return Options{
		ContextPath:    "/nacos",
		Namespace:      wire.PublicNamespace,
		ConnectTimeout: 3 * time.Second,
		RequestTimeout: 5 * time.Second,
		MaxRetries:     3,

		EndpointPort:      8080,
		ServerListRefresh: 30 * time.Second,
	}
}

func (o Options) withDefaults() Options {
	def := DefaultOptions()
	o.ContextPath = cmp.Or(strings.TrimSpace(o.ContextPath), def.ContextPath)
	o.Namespace = cmp.Or(strings.TrimSpace(o.Namespace), def.Namespace)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, def.ConnectTimeout)
	o.RequestTimeout = cmp.Or(o.RequestTimeout, def.RequestTimeout)
	o.MaxRetries = cmp.Or(o.MaxRetries, def.MaxRetries)
	o.Endpoint = strings.TrimSpace(o.Endpoint)
	o.EndpointPort = cmp.Or(o.EndpointPort, def.EndpointPort)
	o.ServerListRefresh = cmp.Or(o.ServerListRefresh, def.ServerListRefresh)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate reports everything that is wrong with the options, each bad server
// entry by name.
func (o Options) Validate() error {
	o = o.withDefaults()
	_, err := o.endpoints()
	_, addressErr := o.addressServer()
	errs := []error{err, addressErr}
	if o.ServerListRefresh < 0 {
		errs = append(errs, fmt.Errorf("server list refresh %v is negative", o.ServerListRefresh))
	}
	if (o.AccessKey == "") != (o.SecretKey == "") {
		errs = append(errs, errors.New("an access key and a secret key need each other"))
	}
	if o.ConnectTimeout < 0 {
		errs = append(errs, fmt.Errorf("connect timeout %v is negative", o.ConnectTimeout))
	}
	if o.RequestTimeout < 0 {
		errs = append(errs, fmt.Errorf("request timeout %v is negative", o.RequestTimeout))
	}
	if o.MaxRetries < 0 {
		errs = append(errs, fmt.Errorf("max retries %d is negative", o.MaxRetries))
	}
	if o.Username == "" && o.Password != "" {
		errs = append(errs, errors.New("a password without a username"))
	}
	return errors.Join(errs...)
}
