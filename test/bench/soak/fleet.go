package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// senders is how many connections the beats share. Each waits for its answers one
	// by one, so that with many of them a slow answer holds up few beats.
	senders = 250
	// between is how many of a service may have left and not come again.
	between = 5
)

// fleet is everybody that talks to the server.
type fleet struct {
	settings
	out    io.Writer
	url    string
	client *http.Client
	probed net.Listener // where the persistent instances are
	all    []*instance
	joined sync.WaitGroup
	counts
	latency latencies
}

// counts are what the fleet saw since the last look.
type counts struct {
	beats, lists, failures, serverErrors, forgotten, unhealthy, missing atomic.Int64
}

// instance is one that beats. It belongs to one sender.
type instance struct {
	service    string
	ip         string
	port       int
	generation int
}

func newFleet(s settings, out io.Writer, base string) (*fleet, error) {
	probed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &fleet{
		settings: s, out: out, url: base, probed: probed,
		client: &http.Client{
			Timeout:   10 * time.Second,
			Transport: &http.Transport{MaxIdleConnsPerHost: senders + s.watchers + 8, IdleConnTimeout: time.Minute},
		},
	}
	for i := range s.instances() {
		f.all = append(f.all, &instance{
			service: fmt.Sprintf("service-%d", i%s.services),
			ip:      fmt.Sprintf("198.18.%d.%d", i>>8&255, i&255), port: 10_000,
		})
	}
	f.joined.Go(func() { // ends with the listener
		for {
			conn, err := probed.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	})
	return f, nil
}

// close waits for everybody, whose context has ended, and ends what is left.
func (f *fleet) close() {
	_ = f.probed.Close()
	f.joined.Wait()
	f.client.CloseIdleConnections()
}

// call makes a request and reads the answer, which must be one of success.
func (f *fleet) call(ctx context.Context, method, path string, query url.Values) (string, error) {
	status, body, err := f.ask(ctx, method, path, query)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", method, path, status, body)
	}
	return body, err
}

// ask makes a request and reads the answer, whatever it is.
func (f *fleet) ask(ctx context.Context, method, path string, query url.Values) (status int, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, f.url+path+"?"+query.Encode(), nil)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("User-Agent", "Nacos-Java-Client:v1.4.1")
	resp, err := f.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(resp.Body)
	err = errors.Join(err, resp.Body.Close())
	if resp.StatusCode >= 500 {
		f.serverErrors.Add(1)
	}
	return resp.StatusCode, string(body), err
}

// count notes a failure, unless the run is over.
func (f *fleet) count(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	if f.failures.Add(1) <= 3 {
		fmt.Fprintln(f.out, "failed:", err)
	}
}

func (i *instance) query() url.Values {
	return url.Values{
		"namespaceId": {"public"}, "serviceName": {"DEFAULT_GROUP@@" + i.service}, "clusterName": {"DEFAULT"},
		"ip": {i.ip}, "port": {strconv.Itoa(i.port)},
	}
}

func (f *fleet) add(ctx context.Context, i *instance) error {
	q := i.query()
	q.Set("metadata", `{"zone":"a","version":"1.4.2"}`)
	_, err := f.call(ctx, http.MethodPost, "/v1/ns/instance", q)
	return err
}

// register registers everybody, as fast as that goes.
func (f *fleet) register(ctx context.Context) error {
	ip, port, err := net.SplitHostPort(f.probed.Addr().String())
	if err != nil {
		return err
	}
	for n := range f.persistent {
		// One listener is all of them: the cluster makes them different.
		q := url.Values{
			"serviceName": {fmt.Sprintf("persistent-%d", n%10)}, "ip": {ip}, "port": {port}, "ephemeral": {"false"},
			"clusterName": {fmt.Sprintf("c%d", n)},
		}
		if _, err := f.call(ctx, http.MethodPost, "/v1/ns/instance", q); err != nil {
			return err
		}
	}
	errs := make(chan error, senders)
	for n := range senders {
		go func() {
			var failed error
			for i := n; i < len(f.all) && failed == nil; i += senders {
				failed = f.add(ctx, f.all[i])
			}
			errs <- failed
		}()
	}
	for range senders {
		err = errors.Join(err, <-errs)
	}
	return err
}

// run starts the load, which ends with ctx.
func (f *fleet) run(ctx context.Context) {
	for n := range min(senders, len(f.all)) {
		f.joined.Go(func() { f.send(ctx, n) })
	}
	for range f.watchers {
		f.joined.Go(func() { f.count(ctx, f.watch(ctx)) })
	}
}

// send beats for a share of the instances, one after the other, evenly over the
// interval, and replaces one now and then.
func (f *fleet) send(ctx context.Context, n int) {
	var own []*instance
	for i := n; i < len(f.all); i += senders {
		own = append(own, f.all[i])
	}
	pause := beatInterval / time.Duration(len(own))
	replaceOne := float64(f.churn) / float64(f.rate) // of so many beats
	timer := time.NewTimer(0)
	defer timer.Stop()
	next := time.Now().Add(time.Duration(rand.Int64N(int64(pause))))
	for k := 0; ; k++ {
		timer.Reset(time.Until(next))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		next = next.Add(pause)
		i := own[k%len(own)]
		if rand.Float64() < replaceOne {
			f.count(ctx, f.replace(ctx, i))
			continue
		}
		f.beat(ctx, i)
	}
}

func (f *fleet) beat(ctx context.Context, i *instance) {
	began := time.Now()
	body, err := f.call(ctx, http.MethodPut, "/v1/ns/instance/beat", i.query())
	f.latency.add(time.Since(began))
	f.beats.Add(1)
	if err == nil && !strings.Contains(body, "10200") {
		f.forgotten.Add(1)
		err = f.add(ctx, i)
	}
	f.count(ctx, err)
}

// replace takes an instance out and another one in, as a deployment does.
func (f *fleet) replace(ctx context.Context, i *instance) error {
	if _, err := f.call(ctx, http.MethodDelete, "/v1/ns/instance", i.query()); err != nil {
		return err
	}
	i.generation++
	i.port = 10_000 + i.generation%50_000
	return f.add(ctx, i)
}

// watch polls all services in turn and acknowledges what is pushed.
func (f *fleet) watch(ctx context.Context) error {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	received := make(chan struct{})
	go func() { defer close(received); f.receive(conn) }()
	defer func() { _ = conn.Close(); <-received }()
	port := conn.LocalAddr().(*net.UDPAddr).Port
	ticker := time.NewTicker(renewal / time.Duration(f.services))
	defer ticker.Stop()
	for k := 0; ; k++ {
		f.count(ctx, f.look(ctx, fmt.Sprintf("service-%d", k%f.services), port))
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// look asks for a list. Everybody in it must be healthy, and at most those who
// are being replaced may be missing.
func (f *fleet) look(ctx context.Context, service string, udpPort int) error {
	body, err := f.call(ctx, http.MethodGet, "/v1/ns/instance/list", url.Values{
		"serviceName": {"DEFAULT_GROUP@@" + service}, "clientIP": {"127.0.0.1"}, "udpPort": {strconv.Itoa(udpPort)},
	})
	if err != nil {
		return err
	}
	var list struct {
		Hosts []struct {
			Healthy bool `json:"healthy"`
		} `json:"hosts"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		return err
	}
	f.lists.Add(1)
	for _, h := range list.Hosts {
		if !h.Healthy {
			f.unhealthy.Add(1)
		}
	}
	if len(list.Hosts) < f.instances()/f.services-between {
		f.missing.Add(1)
	}
	return nil
}

// receive acknowledges what is pushed until the socket is closed.
func (f *fleet) receive(conn *net.UDPConn) {
	packet := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(packet)
		if err != nil {
			return
		}
		number, err := pushNumber(packet[:n])
		if err != nil {
			continue // without an acknowledgement it comes again, and is counted by the server
		}
		ack := fmt.Sprintf(`{"type":"push-ack","lastRefTime":"%d","data":""}`, number)
		_, _ = conn.WriteToUDPAddrPort([]byte(ack), from) // a lost one is the network's habit
	}
}
