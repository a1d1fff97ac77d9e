// Resty calls a service by name with go-resty, which like any HTTP client takes
// an http.RoundTripper. It is a module of its own, so that Rollcall does not
// depend on resty. Start a registry and the greeter first:
//
//	go run ./server/cmd/rollcall
//	cd examples/greeter && go run .
//	cd examples/resty && go run . http://greeter/hello
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-resty/resty/v2"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/loadbalance"
)

func main() {
	registry := flag.String("registry", "127.0.0.1:8848", "host:port of the registry")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "resty: the URL to get is missing, such as http://greeter/hello")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := run(ctx, *registry, flag.Arg(0), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "resty:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, registry, url string, out io.Writer) (err error) {
	source, err := nacos.NewSource(nacos.Options{Connection: nacos.Connection{Servers: []string{registry}}})
	if err != nil {
		return err
	}
	catalogue, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}})
	if err != nil {
		return errors.Join(err, source.Close())
	}
	defer func() { err = errors.Join(err, catalogue.Close()) }()
	balancer, err := loadbalance.New(loadbalance.Options{Discovery: catalogue})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, balancer.Close()) }()
	transport := loadbalance.NewTransport(balancer, nil, loadbalance.TransportOptions{})
	defer transport.CloseIdleConnections()

	// This line is all there is to it. What resty adds, such as its own retries,
	// works as ever: each of them is a call of its own and chooses anew.
	client := resty.New().SetTransport(transport)

	resp, err := client.R().SetContext(ctx).Get(url)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "GET %s answered %s: %q\n", url, resp.Status(), resp.String())
	return err
}
