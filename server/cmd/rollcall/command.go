package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/server"
)

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

type flags struct {
	config  string
	address string
	port    int
}

func newCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "rollcall",
		Short: "A service registry that speaks the Nacos 1.x protocol",
		Long: `rollcall is a service registry for clients of Nacos 1.x: registration, beats,
discovery and UDP push over HTTP v1, on port 8848 below /nacos.

Settings come from the defaults, the file given with --config (or by the
environment variable ROLLCALL_CONFIG), environment variables such as SERVER_PORT,
and the flags, each stronger than the one before. configs/server.yaml shows them
all.

Everything is held in memory: a restart begins empty, and clients register again
with their next beat.`,
		Example: `  rollcall
  rollcall --port 8849 --address 127.0.0.1
  rollcall --config server.yaml`,
		Version:       server.Version(),
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			app, err := autoconfig.New(f.options(cmd)...)
			if err != nil {
				return err
			}
			return app.Run(cmd.Context())
		},
	}
	cmd.SetVersionTemplate("rollcall {{.Version}}\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.Flags().SortFlags = false
	cmd.Flags().IntVarP(&f.port, "port", "p", 8848, "port to listen on (server.port)")
	cmd.Flags().StringVar(&f.address, "address", "", "address to listen on, all of them if empty (server.address)")
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "YAML `file` with the settings")
	return cmd
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}

// options are those of the server, with what was given on the command line above
// everything else.
func (f *flags) options(cmd *cobra.Command) []fx.Option {
	opts := []fx.Option{server.Module}
	switch {
	case f.config != "":
		opts = append(opts, autoconfig.ConfigFile(f.config))
	case os.Getenv("ROLLCALL_CONFIG") == "":
		// Without this, the application.yaml of whatever folder the server is
		// started in would be read, and that is some application's.
		opts = append(opts, autoconfig.ConfigYAML("{}"))
	}
	if cmd.Flags().Changed("port") {
		opts = append(opts, autoconfig.Property("server.port", f.port))
	}
	if cmd.Flags().Changed("address") {
		opts = append(opts, autoconfig.Property("server.address", f.address))
	}
	return opts
}

// exitCode tells what went wrong, one line for each problem.
func exitCode(err error, stderr io.Writer) int {
	var exit *autoconfig.ExitError
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "rollcall: %v\nSee rollcall --help.\n", err)
		return exitUsage
	case errors.Is(err, syscall.EADDRINUSE):
		fmt.Fprintf(stderr, "rollcall: %v; stop whoever listens there or choose another port with --port\n", err)
		return exitFailed
	}
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		fmt.Fprintf(stderr, "rollcall: %s\n", line)
	}
	return exitFailed
}
