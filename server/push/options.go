package push

import (
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/internal/wire"
)

const (
	// ackTimeout is how long a client has to acknowledge a datagram before it is
	// sent once more, and then again before it is given up (Nacos: 10 s).
	ackTimeout = 10 * time.Second

	// maxSends is how often the same bytes are sent at most.
	maxSends = 2

	// minLife is how long a subscription lives at least without another list
	// request. Nacos drops it after 10 s, which is also the interval at which Java
	// clients ask, so that they fall off the edge now and then.
	minLife = 65 * time.Second

	// maxLife is how long it lives at most, whatever clients are told.
	maxLife = time.Hour

	// lifeMargin is what a subscription lives longer than the time after which its
	// client is to ask again.
	lifeMargin = 5 * time.Second

	// maxShapes bounds how many different answers a round encodes for one service.
	maxShapes = 256
)

// Conn is the part of a UDP socket that the server needs; [*net.UDPConn] is one.
type Conn interface {
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	Close() error
}

// Shape is what one subscriber's answer depends on besides the service itself.
type Shape struct {
	// Clusters is the comma list of the list request, exactly as it was sent:
	// clients find their cache entry by it.
	Clusters string
	// Grouped says whether hosts and dom carry the grouped service name
	// ([wire.Agent.GroupedNames]).
	Grouped bool
}

// Source gives the list answer that subscribers of one shape are sent; ok is
// false when there is nothing to send. It is called on the server's own
// goroutine and must not keep it waiting.
type Source func(k wire.ServiceKey, s Shape) (answer []byte, ok bool)

// Options says what a [Server] needs. Conn and Source are required.
type Options struct {
	// Conn is the socket that pushes leave from and acknowledgements come back
	// to. The server closes it.
	Conn Conn
	// Source gives the answers.
	Source Source
	// Logger gets a debug line for each client that is dropped; nil discards it.
	Logger *slog.Logger
	// Registerer gets the metrics; nil registers none.
	Registerer prometheus.Registerer

	// PollInterval is after how long clients that are pushed to are told to ask
	// again at the moment; a subscription lives a little longer than that, and 65 s
	// to an hour. It must not block. nil is always 65 s.
	PollInterval func() time.Duration
	// Window is the time after a round in which further changes of that service
	// are gathered for the next one. The default is 500 ms.
	Window time.Duration
	// RequesterOnly accepts a subscription only when its address is the one the
	// list request came from. It cannot be used behind a proxy.
	RequesterOnly bool
	// MaxSubscriptions bounds all subscriptions; who comes later is told to poll.
	// The default is 200,000.
	MaxSubscriptions int
	// MaxPerService bounds the subscriptions of one service. The default is 20,000.
	MaxPerService int
	// RatePerHost bounds the datagrams a second to one IP address, with a burst of
	// five times as many. The default is 200.
	RatePerHost int
}

func (o Options) withDefaults() (Options, error) {
	if o.Conn == nil || o.Source == nil {
		return o, errors.New("push: Conn and Source are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.PollInterval == nil {
		o.PollInterval = func() time.Duration { return 0 }
	}
	if o.Window <= 0 {
		o.Window = 500 * time.Millisecond
	}
	if o.MaxSubscriptions <= 0 {
		o.MaxSubscriptions = 200_000
	}
	if o.MaxPerService <= 0 {
		o.MaxPerService = 20_000
	}
	if o.RatePerHost <= 0 {
		o.RatePerHost = 200
	}
	return o, nil
}

// life is how long a subscription lives without another list request.
func (o *Options) life() time.Duration {
	return min(max(o.PollInterval(), minLife-lifeMargin), maxLife-lifeMargin) + lifeMargin
}
