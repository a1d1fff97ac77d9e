package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/httpserver"
)

// bound limits how long a client holds a connection's goroutine by sending its body
// or reading its answer slowly (SB-21), and has what nobody will read close the
// connection. It is a middleware of the whole engine, as every request sets the
// limits anew.
func bound(c *gin.Context) {
	httpserver.BoundTime(c.Writer, c.Request)
	if c.Request.ContentLength != 0 && !readsBody(c) {
		c.Header("Connection", "close") // answered at once, without the rest
	}
}

// readsBody says whether a request's body has any meaning: a form, or the JSON
// document of a POST to a route there is.
func readsBody(c *gin.Context) bool {
	return hasForm(c.Request) || c.Request.Method == http.MethodPost && c.FullPath() != ""
}
