// Gateway lets requests from outside in, by the name of the service they are for:
// /greeter/hello goes to /hello at an instance of greeter. Start a registry and
// the greeter first:
//
//	go run ./server/cmd/rollcall
//	cd examples/greeter && go run .
//	cd examples/gateway && go run .
//	curl localhost:8000/greeter/hello
package main

import (
	"github.com/gin-gonic/gin"
	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/loadbalance/gateway"
	"go.uber.org/fx"
)

func main() {
	autoconfig.Run(
		gateway.Module,
		autoconfig.Properties("gateway", gateway.DefaultProperties()),
		fx.Invoke(func(engine *gin.Engine, g *gateway.Gateway) { engine.NoRoute(g.Handle) }),
	)
}
