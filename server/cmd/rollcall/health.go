package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/internal/nacosclient"
)

func (c *cli) healthCommand() *cobra.Command {
	var f serverFlags
	var local bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Say by the exit code whether a registry wants traffic",
		Long: `Asks for the readiness. The exit code is 0 when the registry wants traffic, 1 when
it says that it does not, 5 when it does not answer: for health checks of
containers.

With --local the server on this machine is asked, where its configuration and the
environment say that it listens: address, port, context path and TLS, whose
certificate is not verified then. Flags of the server are not known here.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask := func(ctx context.Context, client *adminclient.Client) error {
				if err := client.Ready(ctx); err != nil {
					return fmt.Errorf("not ready: %w", err)
				}
				return c.printer().done("ready", map[string]bool{"ready": true})
			}
			switch {
			case !local && f.config != "":
				return usagef("--config needs --local")
			case !local:
				return c.withClient(cmd, ask)
			case len(c.connection.servers) > 0:
				return usagef("--local and --server exclude each other")
			case c.connection.timeout <= 0:
				return usagef("--timeout must be more than 0")
			}
			read, err := readConfig(&f, cmd)
			if err != nil {
				return err
			}
			opts, err := localOptions(read.Server())
			if err != nil {
				return err
			}
			opts.RequestTimeout, opts.ConnectTimeout = c.connection.timeout, c.connection.timeout
			client, err := adminclient.New(opts)
			if err != nil {
				return err
			}
			defer func() { _ = client.Close() }() // it was only asked
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			return ask(ctx, client)
		},
	}
	cmd.Flags().BoolVar(&local, "local", false, "ask the server on this machine, where its configuration says that it listens")
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "YAML `file` with its settings (ROLLCALL_CONFIG)")
	return cmd
}

// localOptions say how the server with these settings is reached from its own
// machine.
func localOptions(p autoconfig.ServerProperties) (nacosclient.Options, error) {
	if p.Port <= 0 {
		return nacosclient.Options{}, fmt.Errorf("server.port is %d, which says of no port where it is", p.Port)
	}
	host := p.Address
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip == netip.IPv4Unspecified() {
		host = "127.0.0.1"
	} else if err == nil && ip.IsUnspecified() {
		host = "::1"
	}
	scheme := "http"
	opts := nacosclient.Options{}
	if p.SSL.Enabled() {
		scheme = "https"
		// It is this machine's own address and nothing secret is sent; the certificate
		// is for the name that others know.
		opts.TLS = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}
	}
	// Without a path the client would add its own default.
	path := p.ContextPath
	if path == "" {
		path = "/"
	}
	opts.Servers = []string{scheme + "://" + net.JoinHostPort(host, strconv.Itoa(p.Port)) + path}
	return opts, nil
}
