package nacos_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

// inbox records what a source tells. The tests read it after an acknowledgement,
// which follows the telling.
func inbox(s *nacos.Source) chan discovery.Listing {
	told := make(chan discovery.Listing, 16)
	s.Notify(func(l discovery.Listing) { told <- l })
	return told
}

func TestPush_ListIsToldAndAcknowledged(t *testing.T) {
	p := newPushing(t)
	s, to := p.source(orders)
	told := inbox(s)
	require.Equal(t, "127.0.0.1", to.IP.String(), "the address of the route to the registry")
	p.Put("public", service, fakeInstance("192.0.2.5", 80))
	p.SetCacheFor(10 * time.Second)
	for n, kind := range []string{"dom", "service"} {
		packet := p.datagram(kind, service)
		require.JSONEq(t, fmt.Sprintf(`{"type":"push-ack","lastRefTime":"%d","data":""}`, n+1), p.send(to, packet))
		l := <-told
		require.Equal(t, orders, l.Service)
		require.Equal(t, []string{"192.0.2.5:80"}, addresses(l))
		require.Equal(t, 10*time.Second, l.CacheFor)
	}
	p.Remove("public", service, "", "192.0.2.5", 80)
	require.NotEmpty(t, p.send(to, p.datagram("dom", service)))
	require.Empty(t, (<-told).Instances, "the last one left")
}

func TestPush_Compressed(t *testing.T) {
	p := newPushing(t)
	s, to := p.source(orders)
	told := inbox(s)
	for n := range 300 {
		p.Put("public", service, fakeInstance("192.0.2.5", 1+n))
	}
	packet := p.datagram("dom", service)
	require.Equal(t, []byte{0x1f, 0x8b}, packet[:2])
	require.NotEmpty(t, p.send(to, packet))
	require.Len(t, (<-told).Instances, 300)
}

// A datagram is read whole, however large; one that is cut is no list.
func TestPush_AsLargeAsADatagramCanBe(t *testing.T) {
	p := newPushing(t)
	s, to := p.source(orders)
	told := inbox(s)
	host := fmt.Sprintf(`{"ip":"192.0.2.5","port":80,"metadata":{"long":"%s"}}`, strings.Repeat("x", 60_000))
	packet := fmt.Appendf(nil, `{"type":"dom","lastRefTime":4,"data":%q}`, `{"name":"DEFAULT_GROUP@@orders","clusters":"","hosts":[`+host+`]}`)
	require.Greater(t, len(packet), 60_000)
	require.NotEmpty(t, p.send(to, packet))
	require.Len(t, (<-told).Instances[0].Metadata["long"], 60_000)
}

func TestPush_OlderTimeIsNoReasonToDrop(t *testing.T) {
	p := newPushing(t)
	s, to := p.source(orders)
	told := inbox(s)
	for n, sequence := range []int64{900, 5} {
		p.sequence = sequence
		p.Put("public", service, fakeInstance("192.0.2.5", 1+n))
		require.NotEmpty(t, p.send(to, p.datagram("dom", service)))
		require.Len(t, (<-told).Instances, n+1)
	}
}

func TestPush_WhatIsNotTold(t *testing.T) {
	p := newPushing(t)
	s, to := p.source(orders)
	told := inbox(s)
	bomb := func() []byte {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		require.NoError(t, err)
		_, err = w.Write(make([]byte, 17<<20))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	quoted := func(kind, data string) []byte {
		return fmt.Appendf(nil, `{"type":%q,"lastRefTime":4,"data":%q}`, kind, data)
	}
	ack := func(kind string) string { return fmt.Sprintf(`{"type":"%s-ack","lastRefTime":"4","data":""}`, kind) }
	for _, test := range []struct {
		name   string
		packet []byte
		ack    string
	}{
		{"no JSON", []byte("hello"), ""},
		{"empty", nil, ""},
		{"half a gzip", []byte{0x1f, 0x8b, 8}, ""},
		{"a gzip bomb", bomb(), ""},
		{"no list", quoted("dom", `{"cacheMillis":10000}`), ""},
		{"null hosts", quoted("dom", `{"name":"DEFAULT_GROUP@@orders","clusters":"","hosts":null}`), ""},
		{"a service nobody asked for", quoted("dom", `{"name":"DEFAULT_GROUP@@other","clusters":"","hosts":[]}`), ack("push")},
		{"no service", quoted("dom", `{"name":"","hosts":[]}`), ack("push")},
		{"some clusters only", quoted("dom", `{"name":"DEFAULT_GROUP@@orders","clusters":"BLUE","hosts":[]}`), ack("push")},
		{"dump", quoted("dump", ""), ack("unknown")},
		{"another type", quoted("boom", "x"), ack("unknown")},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.ack, p.send(to, test.packet))
			require.Empty(t, told)
		})
	}
	require.NotEmpty(t, p.send(to, p.datagram("dom", service)))
	require.Len(t, told, 1, "and the receiver goes on")
}

// A datagram names no namespace.
func TestPush_OfANameInTwoNamespacesIsLeftToTheNextFetch(t *testing.T) {
	p := newPushing(t)
	s, to := p.source(orders)
	told := inbox(s)
	_, err := s.Fetch(t.Context(), registry.ServiceID{Namespace: "dev", Name: "orders"})
	require.NoError(t, err)
	require.NotEmpty(t, p.send(to, p.datagram("dom", service)))
	require.Empty(t, told)
}

func TestCR1_OnlyTheServersAddressesMayPush(t *testing.T) {
	p := newPushing(t)
	s, to := p.source(orders)
	told := inbox(s)
	stranger := listenUDP(t, "127.0.0.2")
	_, err := stranger.WriteToUDP(p.datagram("dom", service), to)
	require.NoError(t, err)
	require.NotEmpty(t, p.send(to, p.datagram("dom", service)))
	require.Len(t, told, 1, "the stranger's was first and is not told")
	require.NoError(t, stranger.SetReadDeadline(time.Now()))
	_, err = stranger.Read(make([]byte, 1))
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout(), "nor acknowledged")
}

func TestPush_NothingIsToldAfterClose(t *testing.T) {
	p := newPushing(t)
	s, to := p.source(orders)
	told := inbox(s)
	require.NoError(t, s.Close())
	_, _ = p.conn.WriteToUDP(p.datagram("dom", service), to)
	require.Empty(t, told)
	require.NoError(t, s.Close())
}

func TestPush_WhatCannotWorkIsAnErrorAtOnce(t *testing.T) {
	taken := listenUDP(t, "0.0.0.0")
	port := taken.LocalAddr().(*net.UDPAddr).Port
	for name, push := range map[string]nacos.Push{
		"socket":    {Enabled: true, Port: port},
		"65536":     {Enabled: true, Port: 65536},
		"my-host":   {Enabled: true, AdvertiseIP: "my-host"},
		"0.0.0.0":   {Enabled: true, AdvertiseIP: "0.0.0.0"},
		"224.0.0.1": {Enabled: true, AdvertiseIP: "224.0.0.1"},
	} {
		_, err := nacos.NewSource(nacos.Options{Connection: nacos.Connection{Servers: []string{"127.0.0.1"}}, Push: push})
		require.ErrorContains(t, err, name)
	}
}

func TestPush_FixedPortAndAddress(t *testing.T) {
	listener, fake := testutil.NewListener(), testutil.NewFakeNacos()
	testutil.Serve(t, listener, fake)
	client, err := nacosclient.New(nacosclient.Options{Servers: []string{"127.0.0.1"}, Transport: testutil.Transport(t, listener.Dial)})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	// A port that was free may be somebody's by now.
	var s *nacos.Source
	var port int
	for range 100 {
		free := listenUDP(t, "0.0.0.0")
		port = free.LocalAddr().(*net.UDPAddr).Port
		require.NoError(t, free.Close())
		s, err = nacos.NewSource(nacos.Options{
			Connection: nacos.Connection{Client: client}, Push: nacos.Push{Enabled: true, Port: port, AdvertiseIP: "192.0.2.44"},
		})
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.Fetch(t.Context(), orders)
	require.NoError(t, err)
	q := fake.Requests("GET", "/ns/instance/list")[0].Query
	require.Equal(t, fmt.Sprint(port), q.Get("udpPort"))
	require.Equal(t, "192.0.2.44", q.Get("clientIP"))
}
