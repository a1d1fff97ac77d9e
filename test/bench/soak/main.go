// Command soak loads the real server on this machine for a while, as a fleet
// does, and says whether it stays as it was: memory, goroutines and descriptors
// flat, nobody's health flipped, no answer of 5xx. It ends with a table in
// Markdown, as docs/performance.md has it. Everything stays on 127.0.0.0/8.
//
//	go run ./bench/soak -binary ../bin/rollcall -for 10m -rate 5000
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// settings of a run.
type settings struct {
	binary     string
	duration   time.Duration
	rate       int // beats a second
	services   int
	churn      int // replaced instances a second
	watchers   int
	persistent int
	burden
}

// beatInterval is that of every client of Nacos.
const beatInterval = 5 * time.Second

// settledWithin is how long the server may remember pushes that nobody answers,
// once there are no new ones (SB-13). It takes little more than the 20 s that one
// of them is tried.
const settledWithin = 30 * time.Second

// instances is how many beat for the wanted rate.
func (s *settings) instances() int { return s.rate * int(beatInterval/time.Second) }

func main() {
	var s settings
	flag.StringVar(&s.binary, "binary", "", "the rollcall binary")
	flag.DurationVar(&s.duration, "for", 10*time.Minute, "how long")
	flag.IntVar(&s.rate, "rate", 5000, "beats a second; five times as many instances send them")
	flag.IntVar(&s.services, "services", 250, "services that the instances are spread over")
	flag.IntVar(&s.churn, "churn", 20, "instances replaced each second")
	flag.IntVar(&s.watchers, "watchers", 10, "subscribers, each of all services, that poll and are pushed to")
	flag.IntVar(&s.persistent, "persistent", 200, "persistent instances that the server probes")
	flag.IntVar(&s.unreachable, "unreachable", 0, "subscribers of one more service where no push arrives")
	flag.IntVar(&s.changes, "changes", 0, "changes of that service each second")
	flag.IntVar(&s.malformed, "malformed", 0, "malformed registrations a second")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := run(ctx, os.Stdout, s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	if !report.write(os.Stdout) {
		os.Exit(1)
	}
}

// run is one soak. It writes to out how it goes on.
func run(ctx context.Context, out io.Writer, s settings) (*report, error) {
	server, err := start(ctx, out, s.binary)
	if err != nil {
		return nil, err
	}
	defer server.kill()
	fleet, err := newFleet(s, out, server.url)
	if err != nil {
		return nil, err
	}
	defer fleet.close()
	fmt.Fprintf(out, "soak: %d instances of %d services beat %d times a second for %v, %d replaced a second, %d watchers, %d probed\n",
		s.instances(), s.services, s.rate, s.duration, s.churn, s.watchers, s.persistent)
	began := time.Now()
	if err := fleet.register(ctx); err != nil {
		return nil, fmt.Errorf("register the fleet: %w", err)
	}
	fmt.Fprintf(out, "soak: all are registered after %v\n", time.Since(began).Round(time.Millisecond))

	beating, rest := context.WithCancel(ctx)
	defer rest()
	fleet.run(beating)
	loaded, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	fleet.bear(loaded)
	r := &report{settings: s}
	r.samples = observe(loaded, out, server, fleet, max(s.duration/60, time.Second))
	if s.unreachable > 0 {
		r.settled, r.pending = server.settles(ctx, settledWithin)
	}
	rest()
	fleet.close()
	r.logged = server.logBytes()
	r.exit = server.terminate()
	return r, ctx.Err()
}
