// Command soak loads the real server on this machine for a while, as a fleet
// does, and says whether it stays as it was: memory, goroutines and descriptors
// flat, nobody's health flipped, no answer of 5xx. Everything stays on 127.0.0.1.
//
//	go run ./bench/soak -binary ../bin/rollcall -for 10m -rate 5000
package main

import (
	"context"
	"flag"
	"fmt"
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
}

// beatInterval is that of every client of Nacos.
const beatInterval = 5 * time.Second

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
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	held, err := run(ctx, s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	if !held {
		os.Exit(1)
	}
}

// run is one soak. It reports whether everything held.
func run(ctx context.Context, s settings) (held bool, err error) {
	server, err := start(ctx, s.binary)
	if err != nil {
		return false, err
	}
	defer server.kill()
	fleet, err := newFleet(s, server.url)
	if err != nil {
		return false, err
	}
	defer fleet.close()
	fmt.Printf("soak: %d instances of %d services beat %d times a second for %v, %d replaced a second, %d watchers, %d probed\n",
		s.instances(), s.services, s.rate, s.duration, s.churn, s.watchers, s.persistent)
	began := time.Now()
	if err := fleet.register(ctx); err != nil {
		return false, fmt.Errorf("register the fleet: %w", err)
	}
	fmt.Printf("soak: all are registered after %v\n", time.Since(began).Round(time.Millisecond))

	loaded, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	fleet.run(loaded)
	samples := observe(loaded, server, fleet, max(s.duration/60, time.Second))
	fleet.wait()
	exit := server.terminate()
	return verdict(os.Stdout, s, samples, server.logBytes(), exit), ctx.Err()
}
