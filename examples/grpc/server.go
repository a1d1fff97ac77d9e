package main

import (
	"context"
	"log/slog"
	"net"
	"strconv"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/loadbalance/grpclb"
	"github.com/rollcall-go/rollcall/registry"
	"go.uber.org/fx"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// newServer serves gRPC at a free port of the web server's address and returns
// what announces the port. Its start hook has run before the instance is
// registered, and the instance has left the registry before its stop hook runs.
func newServer(lc fx.Lifecycle, web autoconfig.ServerProperties, log *slog.Logger) (registry.Customizer, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(web.Address, "0"))
	if err != nil {
		return registry.Customizer{}, err
	}
	server := grpc.NewServer()
	server.RegisterService(&greeter, nil)
	served := make(chan error, 1)
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error {
			go func() { served <- server.Serve(listener) }()
			log.Info("gRPC server listens", "address", listener.Addr().String())
			return nil
		},
		OnStop: func(context.Context) error {
			server.GracefulStop()
			return <-served
		},
	})
	port := listener.Addr().(*net.TCPAddr).Port
	return registry.Customizer{Name: "grpc", Customize: func(r *registry.Registration) error {
		r.Metadata[grpclb.MetadataPort] = strconv.Itoa(port)
		return nil
	}}, nil
}

// greetMethod is the full name of the greeter's only method.
const greetMethod = "/rollcall.example.Greeter/Greet"

// greeter is what protoc-gen-go-grpc would generate from
//
//	service Greeter { rpc Greet(google.protobuf.StringValue) returns (google.protobuf.StringValue); }
var greeter = grpc.ServiceDesc{
	ServiceName: "rollcall.example.Greeter",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Greet", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		name := new(wrapperspb.StringValue)
		if err := decode(name); err != nil {
			return nil, err
		}
		return wrapperspb.String("hello " + name.GetValue()), nil
	}}},
}
