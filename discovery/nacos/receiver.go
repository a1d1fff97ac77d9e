package nacos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/wire"
)

// receiver is the UDP socket and the goroutine that reads it.
type receiver struct {
	conn *net.UDPConn
	// port and advertise are where the registry is asked to push to.
	port      int
	advertise string
	origins   *origins
	handle    func(wire.ServiceList) error
	logger    *slog.Logger
	// strange and failing bound the lines that others can cause.
	strange, failing rate.Sometimes

	// ctx ends with the receiver.
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
}

// listen opens the socket and begins to receive. handle is called from one
// goroutine, and its error is why a list was not used.
func listen(p Push, hosts func() []string, handle func(wire.ServiceList) error, logger *slog.Logger) (*receiver, error) {
	advertise := p.AdvertiseIP
	if advertise == "" {
		var err error
		if advertise, err = routeTo(hosts()); err != nil {
			return nil, fmt.Errorf("find the address to be pushed to, or set it: %w", err)
		}
	}
	conn, err := net.ListenUDP("udp", &net.UDPAddr{Port: p.Port})
	if err != nil {
		return nil, fmt.Errorf("open the push socket: %w", err)
	}
	r := &receiver{
		conn:      conn,
		port:      conn.LocalAddr().(*net.UDPAddr).Port,
		advertise: advertise,
		origins:   newOrigins(hosts, net.DefaultResolver.LookupNetIP),
		handle:    handle,
		logger:    logger,
		strange:   rate.Sometimes{Interval: time.Minute},
		failing:   rate.Sometimes{Interval: time.Minute},
		done:      make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	go r.run()
	return r, nil
}

// routeTo returns the local address from which packets to the first reachable
// host leave. Connecting a UDP socket sends nothing.
func routeTo(hosts []string) (string, error) {
	dialer := net.Dialer{Timeout: lookupTimeout}
	var errs []error
	for _, host := range hosts {
		conn, err := dialer.Dial("udp", net.JoinHostPort(host, fmt.Sprint(nacosclient.DefaultPort)))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		local := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap().WithZone("")
		_ = conn.Close()
		return local.String(), nil
	}
	return "", errors.Join(errs...)
}

// close closes the socket first and then waits for the goroutine.
func (r *receiver) close() error {
	r.cancel()
	_ = r.conn.Close()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-r.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("the push receiver did not end within %v", closeTimeout)
	}
}

// errorPause keeps a socket that only fails from using up a processor.
const errorPause = 100 * time.Millisecond

func (r *receiver) run() {
	defer close(r.done)
	buffer := make([]byte, 64<<10)
	for {
		n, from, err := r.conn.ReadFromUDPAddrPort(buffer)
		switch {
		case r.ctx.Err() != nil:
			return
		case err != nil:
			r.failing.Do(func() { r.logger.Warn("receiving a push failed", slog.Any("error", err)) })
			if !r.pause(errorPause) {
				return
			}
		default:
			r.receive(buffer[:n], from)
		}
	}
}

func (r *receiver) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// receive deals with one datagram: it is acknowledged once its list was looked
// at, to where it came from, whether or not the list was of use.
func (r *receiver) receive(packet []byte, from netip.AddrPort) {
	if !r.origins.allow(r.ctx, from.Addr()) {
		r.strange.Do(func() {
			r.logger.Warn("push from an address that is none of the registry's", slog.Any("from", from))
		})
		return
	}
	list, ack, err := read(packet)
	if err != nil {
		r.failing.Do(func() {
			r.logger.Warn("push that cannot be read", slog.Any("from", from), slog.Any("error", err))
		})
		return
	}
	if list != nil {
		if err := r.handle(*list); err != nil {
			r.logger.Debug("push of no use", slog.Any("from", from), slog.Any("error", err))
		}
	}
	if _, err := r.conn.WriteToUDPAddrPort(ack.Encode(), from); err != nil && r.ctx.Err() == nil {
		r.failing.Do(func() {
			r.logger.Warn("acknowledging a push failed", slog.Any("from", from), slog.Any("error", err))
		})
	}
}

// read returns the acknowledgement of a datagram and its list, nil for one of a
// type that has none.
func read(packet []byte) (*wire.ServiceList, wire.Ack, error) {
	push, err := wire.DecodePush(packet)
	if err != nil {
		return nil, wire.Ack{}, err
	}
	ack := wire.Ack{Type: wire.AckUnknown, LastRefTime: push.LastRefTime}
	if push.Type != wire.PushDom && push.Type != wire.PushService {
		return nil, ack, nil
	}
	list, err := nacosclient.ParseList([]byte(push.Data))
	if err != nil {
		return nil, wire.Ack{}, err
	}
	ack.Type = wire.AckPush
	return &list, ack, nil
}
