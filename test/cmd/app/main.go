// The app is what a user of the framework writes: one route of its own and one
// that calls another service by name. The interop tests run it as a process and
// configure it through application.yaml in its working directory.
package main

import (
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/loadbalance"
)

func main() { autoconfig.Run(fx.Invoke(routes)) }

func routes(engine *gin.Engine, client *loadbalance.HTTPClient) {
	engine.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
	engine.GET("/via/:service", func(c *gin.Context) {
		response, err := client.Get("http://" + c.Param("service") + "/hello")
		if err != nil {
			c.String(http.StatusBadGateway, err.Error())
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			c.String(http.StatusBadGateway, err.Error())
			return
		}
		c.Data(response.StatusCode, "text/plain; charset=utf-8", body)
	})
}
