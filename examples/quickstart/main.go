// Quickstart shows the whole of Rollcall on one terminal: a registry server,
// three instances of user-service, one of them in a process of its own, and an
// order-service that calls them by name, while instances leave politely and
// otherwise.
//
//	go run ./examples/quickstart          the story, then a fleet to try things on
//	go run ./examples/quickstart --once   the story alone; exit status 0 if all of it held
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	once := flag.Bool("once", false, "end after the story; exit status 0 only if every claim held")
	verbose := flag.Bool("verbose", false, "show the applications' own log lines too")
	child := flag.String("child", "", "internal: run one user-service that registers with this registry")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *once, *verbose, *child); err != nil {
		if ctx.Err() != nil { // whatever did not hold, did not because of that
			err = errors.New("interrupted before the story had ended")
		}
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, once, verbose bool, child string) error {
	if child != "" {
		return runChild(ctx, child, verbose)
	}
	fleet := &fleet{verbose: verbose}
	defer fleet.stopAll()

	storyCtx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := tell(storyCtx, fleet); err != nil {
		return err
	}
	if once {
		return nil
	}
	return keepServing(ctx, fleet)
}

// keepServing starts the fleet anew, prints what to try, and waits for the
// signal.
func keepServing(ctx context.Context, f *fleet) error {
	if err := f.startAll(ctx); err != nil {
		return err
	}
	if _, err := f.awaitInstances(ctx, 3); err != nil {
		return err
	}
	fmt.Printf(`
The fleet runs again, until Ctrl-C. Try:

  curl '%[1]s/v1/ns/instance/list?serviceName=user-service'
  curl '%[1]s/v1/ns/service/list?pageNo=1&pageSize=10'
  curl '%[2]s/orders/7'
  curl '%[2]s/actuator/health'
  curl -X POST '%[1]s/v1/ns/instance?serviceName=mine&ip=127.0.0.1&port=9000'
  kill -9 %[3]d   # the user-service in a process of its own
`, f.registryURL(), f.order.url(), f.child.pid())
	<-ctx.Done()
	fmt.Println("\nStopping.")
	return nil
}
