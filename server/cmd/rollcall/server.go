package main

import (
	"os"

	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/autoconfig/otlp"
	"github.com/rollcall-go/rollcall/server"
)

// serverFlags are the settings that can be given on the command line.
type serverFlags struct {
	config  string
	address string
	port    int
	dataDir string
	memory  bool
}

func (f *serverFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVarP(&f.port, "port", "p", 8848, "port to listen on (server.port)")
	cmd.Flags().StringVar(&f.address, "address", "", "address to listen on, all of them if empty (server.address)")
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "YAML `file` with the settings (ROLLCALL_CONFIG)")
	cmd.Flags().StringVar(&f.dataDir, "data-dir", "", "data `directory`, ./rollcall-data if empty (nacos.storage.dir)")
	cmd.Flags().BoolVar(&f.memory, "in-memory", false, "keep everything in memory, where it ends with the process (nacos.storage.in-memory)")
}

// options are those of the server, with what was given on the command line above
// everything else.
func (f *serverFlags) options(cmd *cobra.Command) []fx.Option {
	opts := []fx.Option{server.Module, otlp.Module}
	switch {
	case f.config != "":
		opts = append(opts, autoconfig.ConfigFile(f.config))
	case os.Getenv("ROLLCALL_CONFIG") == "":
		// Without this, the application.yaml of whatever folder the server is
		// started in would be read, and that is some application's.
		opts = append(opts, autoconfig.ConfigYAML("{}"))
	}
	for _, s := range []struct {
		flag, key string
		value     any
	}{
		{"port", "server.port", f.port},
		{"address", "server.address", f.address},
		{"data-dir", "nacos.storage.dir", f.dataDir},
		{"in-memory", "nacos.storage.in-memory", f.memory},
	} {
		if cmd.Flags().Changed(s.flag) {
			opts = append(opts, autoconfig.PropertyFrom("--"+s.flag, s.key, s.value))
		}
	}
	return opts
}

func (c *cli) serverCommand() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run the registry server; the same as no command",
		Long: `Runs the registry server until SIGINT or SIGTERM.

Settings come from the defaults, the file given with --config (or by the
environment variable ROLLCALL_CONFIG), environment variables such as SERVER_PORT,
and the flags, each stronger than the one before. configs/server.yaml shows them
all, and rollcall config show what they come to.

What is to outlive the process is kept in ./rollcall-data unless something else is
said. --in-memory keeps nothing.`,
		Example: `  rollcall server --port 8849 --address 127.0.0.1
  rollcall server --config server.yaml --data-dir /var/lib/rollcall`,
		Args: arguments(),
		RunE: c.runServer(&f),
	}
	cmd.Flags().SortFlags = false
	f.add(cmd)
	return cmd
}

func (c *cli) runServer(f *serverFlags) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if f.memory && f.dataDir != "" {
			return usagef("--in-memory and --data-dir exclude each other")
		}
		app, err := autoconfig.New(f.options(cmd)...)
		if err != nil {
			return err
		}
		return app.Run(cmd.Context())
	}
}
