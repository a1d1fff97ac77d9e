package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// host is what the story reads of one instance in the registry's list.
type host struct {
	IP       string            `json:"ip"`
	Port     int               `json:"port"`
	Healthy  bool              `json:"healthy"`
	Metadata map[string]string `json:"metadata"`
}

// observer asks the registry and the order-service with a plain HTTP client, as
// a person would with curl.
var observer = &http.Client{Timeout: 5 * time.Second}

func getJSON(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := observer.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 512)) // what there is of an explanation
		return fmt.Errorf("GET %s: %s: %s", address, resp.Status, body)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// list asks the registry for the instances of a service, unhealthy ones too.
func (f *fleet) list(ctx context.Context, service string) ([]host, error) {
	var reply struct {
		Hosts []host `json:"hosts"`
	}
	err := getJSON(ctx, f.registryURL()+"/v1/ns/instance/list?serviceName="+url.QueryEscape(service), &reply)
	slices.SortFunc(reply.Hosts, func(a, b host) int { return a.Port - b.Port })
	return reply.Hosts, err
}

// await asks every 100 ms until ok says yes, or ctx ends.
func await(ctx context.Context, what string, ok func() (bool, error)) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		yes, err := ok()
		if yes && err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("waiting for %s: %w", what, ctx.Err()), err)
		}
	}
}

// awaitInstances waits until user-service has n instances, all of them healthy.
func (f *fleet) awaitInstances(ctx context.Context, n int) ([]host, error) {
	var hosts []host
	err := await(ctx, fmt.Sprintf("%d instances of user-service", n), func() (bool, error) {
		var err error
		hosts, err = f.list(ctx, "user-service")
		return len(hosts) == n && !slices.ContainsFunc(hosts, func(h host) bool { return !h.Healthy }), err
	})
	return hosts, err
}

// tally is what a series of calls came to.
type tally struct {
	served map[string]int // by the instance that answered
	failed []error
}

func newTally() *tally { return &tally{served: map[string]int{}} }

// call asks the order-service once, which asks user-service by name.
func (t *tally) call(ctx context.Context, f *fleet) {
	var reply struct {
		ServedBy string `json:"servedBy"`
	}
	if err := getJSON(ctx, f.order.url()+"/orders/7", &reply); err != nil {
		t.failed = append(t.failed, err)
		return
	}
	t.served[reply.ServedBy]++
}

func (t *tally) total() int {
	n := len(t.failed)
	for _, served := range t.served {
		n += served
	}
	return n
}

func (t *tally) String() string {
	var parts []string
	for name, n := range t.served {
		parts = append(parts, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(parts)
	return fmt.Sprintf("%d calls, %d failed (%s)", t.total(), len(t.failed), strings.Join(parts, ", "))
}

// traffic calls the order-service steadily, some fifty times a second, until it
// is stopped.
func (f *fleet) traffic(ctx context.Context) (stop func() *tally) {
	ctx, cancel := context.WithCancel(ctx)
	t := newTally()
	var calls sync.WaitGroup
	calls.Go(func() {
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				t.call(context.WithoutCancel(ctx), f)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() *tally {
		cancel()
		calls.Wait()
		return t
	}
}
