// Plain uses the parts of Rollcall by their constructors, without fx, gin or
// configuration files: an HTTP server registers itself, is called by name, and
// leaves the registry again. Start a registry first:
//
//	go run ./server/cmd/rollcall
//	go run ./examples/plain                 # or: --registry host:port
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/rollcall-go/rollcall/discovery"
	nacosdiscovery "github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
	nacosregistry "github.com/rollcall-go/rollcall/registry/nacos"
)

func main() {
	address := flag.String("registry", "127.0.0.1:8848", "host:port of the registry")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := run(ctx, *address, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string, out io.Writer) (err error) {
	// A web server, any one.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello from %s", r.Host) }),
		ReadHeaderTimeout: 5 * time.Second,
	}
	go web.Serve(listener)
	defer web.Close()

	// The provider's side: who we are, and where to say so.
	logger := slog.New(slog.NewTextHandler(out, nil))
	connection := nacosregistry.Connection{Servers: []string{address}}
	backend, err := nacosregistry.New(nacosregistry.Options{Connection: connection, Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close()) }()
	me := registry.NewInstance(registry.ServiceID{Name: "plain"}, "127.0.0.1", 0)
	registration, err := registry.NewAutoServiceRegistration(registry.AutoServiceRegistrationParams{
		ServiceRegistry: backend,
		Registration:    registry.Registration{Instance: me},
		Options:         registry.DefaultAutoOptions(),
		Logger:          logger,
	})
	if err != nil {
		return err
	}
	if err := registration.OnWebServerStarted(ctx, registry.WebServerStarted{Addr: listener.Addr()}); err != nil {
		return err
	}
	if err := registration.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, registration.Stop(context.WithoutCancel(ctx))) }()

	// The consumer's side: a cached list, a balancer over it, a client by name.
	source, err := nacosdiscovery.NewSource(nacosdiscovery.Options{Connection: connection, Logger: logger})
	if err != nil {
		return err
	}
	catalogue, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}, Logger: logger})
	if err != nil {
		return errors.Join(err, source.Close())
	}
	defer func() { err = errors.Join(err, catalogue.Close()) }()
	balancer, err := loadbalance.New(loadbalance.Options{Discovery: catalogue, Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, balancer.Close()) }()
	client := loadbalance.NewHTTPClient(loadbalance.NewTransport(balancer, nil, loadbalance.TransportOptions{}))
	defer client.CloseIdleConnections()

	return call(ctx, client, out)
}

func call(ctx context.Context, client *loadbalance.HTTPClient, out io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://plain/", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "GET http://plain/ answered %q\n", body)
	return err
}
