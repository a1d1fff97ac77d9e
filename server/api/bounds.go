package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// No client holds a connection's goroutine for longer than this by sending its
// body or reading its answer slowly (SB-21). The header's time and that of idle
// connections are the web server's.
const (
	bodyTimeout   = 10 * time.Second
	answerTimeout = 30 * time.Second
)

// bound limits the time for an answer, and that for a body whether or not
// somebody reads it: the web server itself waits for what is left of one before
// it answers. Every request sets the limits anew, so it is a middleware of the
// whole engine; the web server takes that of reading off again before the next
// request. Where a connection has no deadlines there is nothing to limit.
func bound(c *gin.Context) {
	now, connection := time.Now(), http.NewResponseController(c.Writer)
	_ = connection.SetWriteDeadline(now.Add(answerTimeout))
	if c.Request.ContentLength == 0 {
		return
	}
	_ = connection.SetReadDeadline(now.Add(bodyTimeout))
	if !readsBody(c) {
		c.Header("Connection", "close") // answered at once, without the rest
	}
}

// readsBody says whether a request's body has any meaning: a form, or the JSON
// document of a POST to a route there is.
func readsBody(c *gin.Context) bool {
	return hasForm(c.Request) || c.Request.Method == http.MethodPost && c.FullPath() != ""
}
