// Command rollcall is the registry server: one binary that Nacos 1.x clients
// register with and look services up in.
package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
)

// Exit codes.
const (
	exitFailed = 1 // the server could not start, or ended by itself
	exitUsage  = 2 // the command line is wrong
)

func main() {
	// Most of the memory is long-lived and most garbage is small and short-lived,
	// so collecting less often is the cheapest speed there is.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	return exitCode(cmd.ExecuteContext(ctx), stderr)
}
