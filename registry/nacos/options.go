package nacos

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
)

// Options say which Nacos to register with. Servers is all that is required;
// the zero value of every other field means its default.
type Options struct {
	// Servers are the nodes of one registry: host, host:port, [v6]:port or
	// http(s)://host[:port][/context-path]; the port defaults to 8848.
	Servers []string
	// ContextPath stands before every path; "" is "/nacos", "/" is none.
	ContextPath string
	// Namespace is the namespace id for registrations whose service names none;
	// "" is "public".
	Namespace string
	// Username and Password are for the token login; no Username, no login.
	Username, Password string
	// ConnectTimeout bounds making a connection; 0 is 3 s.
	ConnectTimeout time.Duration
	// RequestTimeout bounds a request to one server, a whole call takes at most
	// twice as long; 0 is 5 s.
	RequestTimeout time.Duration
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
		ContextPath:    o.ContextPath,
		Namespace:      o.Namespace,
		Username:       o.Username,
		Password:       o.Password,
		ConnectTimeout: o.ConnectTimeout,
		RequestTimeout: o.RequestTimeout,
		TLS:            o.TLS,
		Logger:         o.Logger,
	})
	return client, true, err
}
