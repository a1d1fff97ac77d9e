package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// burden is what a server has to bear beside its fleet.
type burden struct {
	unreachable int // subscribers of the service burdened, where no push arrives
	changes     int // changes of that service a second
	malformed   int // malformed registrations a second
}

// burdened is the service that the unreachable subscribe to.
const burdened = "burdened"

// renewal is how often a subscriber asks again, as clients do.
const renewal = 10 * time.Second

// bear starts the burden, which ends with ctx.
func (f *fleet) bear(ctx context.Context) {
	f.every(ctx, f.changes, f.change)
	f.every(ctx, f.malformed, f.registerMalformed)
	if f.unreachable > 0 {
		f.every(ctx, max(1, f.unreachable/int(renewal/time.Second)), f.subscribeUnreachable)
	}
}

// every does something so many times a second, with the number of the time, until
// ctx ends.
func (f *fleet) every(ctx context.Context, rate int, do func(context.Context, int) error) {
	if rate == 0 {
		return
	}
	f.joined.Go(func() {
		ticker := time.NewTicker(time.Second / time.Duration(rate))
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				f.count(ctx, do(ctx, n))
			}
		}
	})
}

// change registers the instance of the burdened service again, with other
// metadata. The instance does not beat and is allowed to: its expiry would be two
// more changes after the last one.
func (f *fleet) change(ctx context.Context, n int) error {
	_, err := f.call(ctx, http.MethodPost, "/v1/ns/instance", url.Values{
		"serviceName": {burdened}, "ip": {"198.18.0.0"}, "port": {"1"},
		"metadata": {fmt.Sprintf(`{"change":"%d","preserved.heart.beat.timeout":"3600000","preserved.ip.delete.timeout":"3600000"}`, n)},
	})
	return err
}

// subscribeUnreachable subscribes, or renews the subscription of, somebody behind
// a port of the loopback interface that nobody listens on.
func (f *fleet) subscribeUnreachable(ctx context.Context, n int) error {
	n %= f.unreachable
	_, err := f.call(ctx, http.MethodGet, "/v1/ns/instance/list", url.Values{
		"serviceName": {burdened}, "clientIP": {fmt.Sprintf("127.13.0.%d", 1+n%100)}, "udpPort": {strconv.Itoa(20_000 + n/100)},
	})
	return err
}

// registerMalformed sends what the server must refuse.
func (f *fleet) registerMalformed(ctx context.Context, n int) error {
	q := []url.Values{
		{"serviceName": {"a@@b@@c"}, "ip": {"192.0.2.1"}, "port": {"80"}},
		{"serviceName": {"malformed"}, "ip": {"300.1.1.1"}, "port": {"80"}},
		{"serviceName": {"malformed"}, "ip": {"192.0.2.1"}, "port": {"65536"}},
		{"serviceName": {"malformed"}, "ip": {"192.0.2.1"}, "port": {"80"}, "metadata": {`{"a":`}},
	}[n%4]
	status, body, err := f.ask(ctx, http.MethodPost, "/v1/ns/instance", q)
	if err == nil && status != http.StatusBadRequest {
		err = fmt.Errorf("a malformed registration was answered with %d %s", status, body)
	}
	return err
}
