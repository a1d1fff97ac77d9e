package grpclb_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/loadbalance/grpclb"
	"github.com/rollcall-go/rollcall/registry"
)

func ExampleNewClient() {
	// A gRPC server, registered by the port at which it serves.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	instance := registry.NewInstance(registry.ServiceID{Name: "user-service"}, "127.0.0.1", 8080)
	instance.Metadata = map[string]string{grpclb.MetadataPort: port}
	source := memory.New()
	source.Put(instance)

	// The caller's side.
	client, err := discovery.New(discovery.Options{Sources: []discovery.Source{source}})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	balancer, err := loadbalance.New(loadbalance.Options{Discovery: client})
	if err != nil {
		panic(err)
	}
	defer balancer.Close()
	conn, err := grpclb.NewClient(balancer, "user-service", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer conn.Close()

	answer, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
	fmt.Println(answer.GetStatus(), err)
	// Output: SERVING <nil>
}
