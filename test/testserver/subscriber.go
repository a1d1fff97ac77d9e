package testserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"
)

// renewEvery is how often a subscriber asks again, which keeps it a target of
// pushes: the server forgets one that has not asked for ten seconds.
const renewEvery = 2 * time.Second

// Subscriber is told of a service's changes by UDP, as a client of any language
// is: it asks for the list again and again, and answers each push.
type Subscriber struct {
	socket *net.UDPConn

	mu     sync.Mutex
	pushed [][]Host
	err    error
}

// Subscribe starts a subscriber of a service on a port of 127.0.0.1. It ends
// with the test.
func (s *Server) Subscribe(t testing.TB, service string) *Subscriber {
	t.Helper()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatalf("listen for pushes: %v", err)
	}
	subscriber := &Subscriber{socket: socket}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(subscriber.receive)
	running.Go(func() { subscriber.renew(ctx, s, service) })
	t.Cleanup(func() {
		cancel()
		socket.Close()
		running.Wait()
	})
	return subscriber
}

// Pushed returns the lists pushed so far, and an error if one of the datagrams
// could not be understood.
func (s *Subscriber) Pushed() ([][]Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pushed, s.err
}

// renew asks for the list until the context ends. A server that does not answer
// is asked again: it may be the very thing a test is about.
func (s *Subscriber) renew(ctx context.Context, server *Server, service string) {
	port := s.socket.LocalAddr().(*net.UDPAddr).Port
	address := "http://" + server.Addr() + "/nacos/v1/ns/instance/list?" + url.Values{
		"serviceName": {service}, "clientIP": {"127.0.0.1"}, "udpPort": {strconv.Itoa(port)},
	}.Encode()
	client := http.Client{Timeout: callTimeout}
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err == nil {
			request.Header.Set("User-Agent", "Nacos-Java-Client:v1.4.1")
			if response, err := client.Do(request); err == nil {
				response.Body.Close()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// receive collects and answers pushes until the socket is closed.
func (s *Subscriber) receive() {
	buffer := make([]byte, 64<<10)
	for {
		n, from, err := s.socket.ReadFromUDP(buffer)
		if err != nil {
			return
		}
		hosts, sequence, err := decodePush(buffer[:n])
		s.mu.Lock()
		if err != nil {
			s.err = err
		} else {
			s.pushed = append(s.pushed, hosts)
		}
		s.mu.Unlock()
		ack := fmt.Sprintf(`{"type":"push-ack","lastRefTime":"%d","data":""}`, sequence)
		// A lost answer is the sender's to deal with: it pushes again.
		_, _ = s.socket.WriteToUDP([]byte(ack), from)
	}
}

// decodePush reads the list and the sequence number out of a datagram.
func decodePush(datagram []byte) ([]Host, int64, error) {
	if bytes.HasPrefix(datagram, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(bytes.NewReader(datagram))
		if err != nil {
			return nil, 0, fmt.Errorf("unpack a push: %w", err)
		}
		if datagram, err = io.ReadAll(unpacked); err != nil {
			return nil, 0, fmt.Errorf("unpack a push: %w", err)
		}
	}
	var push struct {
		Type        string `json:"type"`
		Data        string `json:"data"`
		LastRefTime int64  `json:"lastRefTime"`
	}
	if err := json.Unmarshal(datagram, &push); err != nil {
		return nil, 0, fmt.Errorf("decode the push %s: %w", datagram, err)
	}
	hosts, err := ParseList(push.Data)
	return hosts, push.LastRefTime, err
}
