package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/wire"
)

// connection says which registry is asked, as whom.
type connection struct {
	servers            []string
	username, password string
	caFile             string
	timeout            time.Duration
}

func (o *connection) add(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringSliceVar(&o.servers, "server", nil,
		"registry to ask: host:port or http(s)://host:port/path (ROLLCALL_SERVER; 127.0.0.1:8848)")
	flags.StringVar(&o.username, "username", "", "user to log in as (ROLLCALL_USERNAME)")
	flags.StringVar(&o.password, "password", "", "its password; others on this machine see a flag, so better ROLLCALL_PASSWORD")
	flags.StringVar(&o.caFile, "ca-file", "", "PEM `file` with the certificates to trust; host:port then means https (ROLLCALL_CA_FILE)")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Second, "how long one request may take")
}

// defaultServer is this machine's.
const defaultServer = "127.0.0.1:8848"

// options completes what the flags leave out from the environment. prefix is that
// of the variables.
func (o *connection) options(prefix string) (nacosclient.Options, error) {
	servers := o.servers
	if text := os.Getenv(prefix + "SERVER"); len(servers) == 0 && text != "" {
		servers = strings.Split(text, ",")
	}
	if len(servers) == 0 {
		servers = []string{defaultServer}
	}
	opts := nacosclient.Options{
		// Who gives a request more time than usual gives it to connecting, too.
		Servers: servers, RequestTimeout: o.timeout, ConnectTimeout: min(o.timeout, max(3*time.Second, o.timeout/4)),
		Username: cmp.Or(o.username, os.Getenv(prefix+"USERNAME")), Password: cmp.Or(o.password, os.Getenv(prefix+"PASSWORD")),
	}
	if o.timeout <= 0 {
		return opts, usagef("--timeout must be more than 0")
	}
	if file := cmp.Or(o.caFile, os.Getenv(prefix+"CA_FILE")); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return opts, fmt.Errorf("read the certificates to trust: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return opts, fmt.Errorf("%s holds no certificate", file)
		}
		opts.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	}
	if err := opts.Validate(); err != nil {
		return opts, usageError{err}
	}
	return opts, nil
}

// logIn stands before the error of a login.
const logIn = "log in: "

// connect returns a client of the registry that the flags name.
func (c *cli) connect() (*adminclient.Client, error) {
	opts, err := c.connection.options("ROLLCALL_")
	if err != nil {
		return nil, err
	}
	return adminclient.New(opts)
}

// withClient runs f with a client and a context that ends with a signal.
func (c *cli) withClient(cmd *cobra.Command, f func(context.Context, *adminclient.Client) error) (err error) {
	client, err := c.connect()
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	err = f(ctx, client)
	if loginErr := client.LoginError(); err != nil && loginErr != nil {
		err = fmt.Errorf(logIn+"%w", adminclient.Explain(loginErr))
	}
	if closeErr := client.Close(); err == nil {
		err = closeErr
	}
	return err
}

// logger writes warnings to standard error.
func (c *cli) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// named is the service that an argument and flags name.
type named struct{ namespace, group string }

func (n *named) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&n.namespace, "namespace", "n", wire.PublicNamespace, "id of the namespace")
	cmd.Flags().StringVarP(&n.group, "group", "g", wire.DefaultGroup, "group; GROUP@@SERVICE names it, too")
}

func (n *named) key(service string) (wire.ServiceKey, error) {
	name, err := wire.ParseServiceName(service, n.group)
	if err != nil {
		return wire.ServiceKey{}, usageError{err}
	}
	return wire.ServiceKey{Namespace: n.namespace, ServiceName: name}, nil
}
