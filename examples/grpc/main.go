// Grpc is a service that serves gRPC beside HTTP, registered with its gRPC port,
// and a caller that reaches it by name, here in one program. Start a registry
// first:
//
//	go run ./server/cmd/rollcall
//	cd examples/grpc && go run .
//	curl localhost:8080/greet/Ann
package main

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/loadbalance/grpclb"
	"go.uber.org/fx"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	autoconfig.Run(
		fx.Provide(fx.Annotate(newServer, fx.ResultTags(`group:"registration.customizer"`))),
		grpclb.Module,
		fx.Provide(fx.Annotate(plaintext, fx.ResultTags(`group:"grpclb.dialoptions"`))),
		fx.Invoke(routes),
	)
}

func plaintext() grpc.DialOption { return grpc.WithTransportCredentials(insecure.NewCredentials()) }

// routes is the caller: it knows the service's name and no address.
func routes(engine *gin.Engine, connections *grpclb.Connections) {
	engine.GET("/greet/:name", func(c *gin.Context) {
		conn, err := connections.Get("user-service")
		if err != nil {
			c.String(http.StatusInternalServerError, err.Error())
			return
		}
		// Generated code would say NewGreeterClient(conn).Greet(…).
		answer := new(wrapperspb.StringValue)
		err = conn.Invoke(c.Request.Context(), greetMethod, wrapperspb.String(c.Param("name")), answer)
		if err != nil {
			c.String(http.StatusBadGateway, "%s", status.Convert(err).Message())
			return
		}
		c.String(http.StatusOK, "%s\n", answer.GetValue())
	})
}
