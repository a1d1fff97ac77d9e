package api

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/push"
)

// listeners are the clients at the other end of a UDP socket in memory.
type listeners struct {
	in     chan wire.Ack
	from   chan netip.AddrPort
	closed chan struct{}

	mu     sync.Mutex
	newest map[uint16]wire.ServiceList
	silent map[uint16]bool // acknowledge nothing
}

func newListeners() *listeners {
	return &listeners{
		in: make(chan wire.Ack, 1024), from: make(chan netip.AddrPort, 1024), closed: make(chan struct{}),
		newest: make(map[uint16]wire.ServiceList), silent: make(map[uint16]bool),
	}
}

func (l *listeners) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	select {
	case ack := <-l.in:
		return copy(b, ack.Encode()), <-l.from, nil
	case <-l.closed:
		return 0, netip.AddrPort{}, net.ErrClosed
	}
}

func (l *listeners) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	datagram, err := wire.DecodePush(b)
	if err != nil {
		return 0, err
	}
	var list wire.ServiceList
	if err := json.Unmarshal([]byte(datagram.Data), &list); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest[to.Port()] = list
	if !l.silent[to.Port()] {
		l.in <- wire.Ack{Type: wire.AckPush, LastRefTime: datagram.LastRefTime}
		l.from <- to
	}
	return len(b), nil
}

func (l *listeners) Close() error {
	close(l.closed)
	return nil
}

// ports are those of the hosts in the newest list at a listener.
func (l *listeners) ports(at uint16) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	ports := []int{}
	for _, h := range l.newest[at].Hosts {
		ports = append(ports, h.Port)
	}
	return ports
}

// newPushFixture is a fixture whose changes are pushed to listeners.
func newPushFixture(t *testing.T) (*fixture, *listeners) {
	t.Helper()
	l := newListeners()
	f := newFixture(t, func(o *Options) {
		server, err := push.New(push.Options{Conn: l, Source: Pushed(o.Store, o.Switches)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Close()) })
		o.Store.OnChange(server.Change)
		o.Push = server
	})
	return f, l
}

func TestSB12_WhatIsSwitchedOffAndOnArrivesInItsLastState(t *testing.T) {
	for _, kind := range []string{"true", "false"} {
		for _, request := range []string{"PUT instance", "PATCH instance"} {
			for _, every := range []time.Duration{300 * time.Millisecond, 5 * time.Millisecond} {
				t.Run(fmt.Sprint(request, " ephemeral ", kind, " ", every), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f, l := newPushFixture(t)
						l.silent[3] = true
						at := func(port string) []string {
							return []string{
								"serviceName", "toggled", "ip", "192.0.2.1", "port", port, "ephemeral", kind,
								"metadata", `{"preserved.heart.beat.timeout":"86400000","preserved.ip.delete.timeout":"86400000"}`,
							}
						}
						for _, port := range []string{"80", "81"} {
							f.want("200 ok", "POST instance", at(port)...)
						}
						for round := range 8 {
							f.agent = java14
							for port := range 3 {
								f.list("serviceName", "toggled", "clientIP", "127.0.0.1", "udpPort", strconv.Itoa(port+1))
							}
							f.agent = "curl/8.0"
							for change := range 11 {
								f.want("200 ok", request, append(at("80"), "enabled", strconv.FormatBool(change%2 == 1))...)
								time.Sleep(every)
							}
							time.Sleep(2*time.Second - every)
							require.Equal(t, []int{81}, l.ports(1), "round %d", round)
							require.Equal(t, []int{81}, l.ports(2), "round %d", round)
							if round < 3 { // later it is dropped for its silence
								require.Equal(t, []int{81}, l.ports(3), "round %d", round)
							}
							// And back: the newest list is the one before it all.
							f.want("200 ok", request, append(at("80"), "enabled", "true")...)
							f.want("200 ok", request, append(at("80"), "enabled", "false")...)
							time.Sleep(2 * time.Second)
							require.Equal(t, []int{81}, l.ports(1), "round %d", round)
						}
					})
				})
			}
		}
	}
}

func TestSB12_EveryKindOfChangeIsPushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := newPushFixture(t)
		at := []string{"serviceName", "changed", "ip", "192.0.2.1", "port", "80"}
		subscribe := func() {
			f.agent = java14
			f.list("serviceName", "changed", "clientIP", "::1", "udpPort", "1")
			f.agent = ""
		}
		subscribe() // before there is such a service
		f.want("200 ok", "POST instance", at...)
		time.Sleep(2 * time.Second)
		require.Equal(t, []int{80}, l.ports(1))
		for _, change := range []func(){
			func() { f.want("200 ok", "PATCH instance", append(at, "weight", "7")...) },
			func() { f.want("200 ok", "PATCH instance", append(at, "metadata", "a=b")...) },
			func() {
				f.wantStatus(200, "PUT instance/metadata/batch", "serviceName", "changed", "consistencyType", "ephemeral", "metadata", "c=d")
			},
			func() { f.want("200 ok", "PUT service", "serviceName", "changed", "protectThreshold", "0.9") },
			func() {
				f.want("200 ok", "PUT service", "serviceName", "changed", "protectThreshold", "0.9", "metadata", "s=t")
			},
			func() {
				f.want("200 ok", "PUT cluster", "serviceName", "changed", "clusterName", "DEFAULT", "checkPort", "80",
					"useInstancePort4Check", "true", "healthChecker", `{"type":"NONE"}`)
				f.want("200 ok", "PUT health/instance", append(at, "healthy", "false")...)
			},
			func() {
				f.want("200 ok", "POST instance", persistent("serviceName", "changed", "ip", "192.0.2.1", "port", "81")...)
			},
			func() { f.want("200 ok", "DELETE instance", "serviceName", "changed", "ip", "192.0.2.1", "port", "81") },
			func() { time.Sleep(time.Minute) }, // it expires
			func() { f.want("200 ok", "DELETE service", "serviceName", "changed") },
		} {
			subscribe()
			change()
			time.Sleep(2 * time.Second)
			want := f.list("serviceName", "changed")
			l.mu.Lock()
			got := l.newest[1]
			l.mu.Unlock()
			require.Equal(t, want.Checksum, got.Checksum)
			require.Len(t, got.Hosts, len(want.Hosts))
			require.Equal(t, want.Metadata, got.Metadata)
		}
		require.Empty(t, l.ports(1))
	})
}
