// Greeter is the program of the README: a service that registers itself as
// greeter and calls services by name, here itself: lb:// takes nothing but names. Start a registry first:
//
//	go run ./server/cmd/rollcall
//	cd examples/greeter && go run .
//	curl localhost:8080/meet/greeter
package main

import (
	"github.com/gin-gonic/gin"
	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/loadbalance"
	"go.uber.org/fx"
)

func main() { autoconfig.Run(fx.Invoke(routes)) }

func routes(engine *gin.Engine, client *loadbalance.HTTPClient) {
	engine.GET("/hello", func(c *gin.Context) { c.String(200, "hello\n") })
	engine.GET("/meet/:service", func(c *gin.Context) {
		resp, err := client.Get("lb://" + c.Param("service") + "/hello") // by name
		if err != nil {
			c.String(503, err.Error())
			return
		}
		defer resp.Body.Close()
		c.DataFromReader(resp.StatusCode, resp.ContentLength, "text/plain", resp.Body, nil)
	})
}
