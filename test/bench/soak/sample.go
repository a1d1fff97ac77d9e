package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// latencies gathers how long beats took since the last look.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

// take returns the 99th percentile and begins anew.
func (l *latencies) take() time.Duration {
	l.mu.Lock()
	all := l.all
	l.all = make([]time.Duration, 0, cap(all))
	l.mu.Unlock()
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

// sample is one look at everything.
type sample struct {
	at time.Duration
	process
	goroutines, heap   float64
	cpu                float64 // processors in use since the last one
	beats              float64 // a second
	p99                time.Duration
	pushes             int64 // acknowledged
	lists              int64
	failures, wrong5xx int64
	forgotten          int64
	unhealthy, missing int64
	flips, expiries    float64
	frozen             float64
	pending            float64 // pushes that nobody has answered yet
}

// observe takes and prints samples until ctx ends.
func observe(ctx context.Context, out io.Writer, s *server, f *fleet, every time.Duration) []sample {
	fmt.Fprintf(out, "%8s %8s %7s %10s %5s %5s %8s %8s %7s %6s %5s %4s %6s\n",
		"time", "rss MiB", "heap", "goroutines", "fds", "cpu", "beats/s", "p99", "pushes", "failed", "flips", "5xx", "frozen")
	var samples []sample
	began, last := time.Now(), time.Now()
	before, err := s.process()
	if err != nil {
		fmt.Fprintln(out, "sample:", err)
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return samples
		case <-ticker.C:
		}
		x, err := look(s, f)
		if err != nil {
			f.count(ctx, fmt.Errorf("sample: %w", err))
			continue
		}
		now := time.Now()
		x.at = now.Sub(began)
		x.cpu = float64(x.ticks-before.ticks) / 100 / now.Sub(last).Seconds()
		x.beats = float64(f.beats.Swap(0)) / now.Sub(last).Seconds()
		last, before = now, x.process
		samples = append(samples, x)
		fmt.Fprintf(out, "%8v %8d %7d %10.0f %5d %5.2f %8.0f %8v %7d %6d %5.0f %4d %6.1f\n",
			x.at.Round(time.Second), x.resident>>20, int64(x.heap)>>20, x.goroutines, x.descriptors, x.cpu, x.beats,
			x.p99.Round(10*time.Microsecond), x.pushes, x.failures, x.flips, x.wrong5xx, x.frozen)
	}
}

func look(s *server, f *fleet) (sample, error) {
	m, err := s.metrics()
	if err != nil {
		return sample{}, err
	}
	wrong := int64(0)
	for series, value := range m {
		if strings.HasPrefix(series, "http_server_requests_seconds_count{") && strings.Contains(series, `status="5`) {
			wrong += int64(value)
		}
	}
	p, err := s.process()
	return sample{
		process: p, goroutines: m["go_goroutines"], heap: m["go_memstats_heap_inuse_bytes"], p99: f.latency.take(),
		lists: f.lists.Load(), failures: f.failures.Load(),
		wrong5xx: max(f.serverErrors.Load(), wrong), forgotten: f.forgotten.Load(),
		unhealthy: f.unhealthy.Load(), missing: f.missing.Load(),
		flips: m["rollcall_naming_health_flips_total"], expiries: m["rollcall_naming_expiries_total"],
		frozen:  m["rollcall_naming_lease_clock_frozen_seconds_total"],
		pending: m["rollcall_push_pending"],
		pushes:  int64(m[`rollcall_push_datagrams_total{outcome="acked"}`]),
	}, err
}
