// Command rollcall is the registry server, and the tool to look into one and to
// look after its data.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	// Most of the memory is long-lived and most garbage is small and short-lived,
	// so collecting less often is the cheapest speed there is.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run is main without the process around it.
func run(ctx context.Context, args []string, s streams) int {
	cmd := newCommand(s)
	cmd.SetArgs(args)
	ran, err := cmd.ExecuteContextC(ctx)
	return exitCode(err, ran.CommandPath(), s.err)
}

// untilSignal returns a context that ends with Ctrl-C or SIGTERM. The server has
// signals of its own.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}
