package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/server"
)

// A registry inside another program, on a port that is free. The binary does the
// same with autoconfig.Run(server.Module).
func Example() {
	app, err := autoconfig.New(server.Module,
		autoconfig.ConfigYAML("{server: {address: 127.0.0.1, port: 0}, nacos: {storage: {in-memory: true}}}"),
		autoconfig.Logger(slog.New(slog.DiscardHandler)),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := app.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = app.Stop(ctx) }()

	instance := "http://" + app.Addr().String() + "/nacos/v1/ns/instance?serviceName=orders&ip=192.0.2.7&port=8080"
	reply, err := http.Post(instance, "", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	fmt.Println(string(text), err)
	// Output: ok <nil>
}
