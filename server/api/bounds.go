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

// boundWrites limits the time for an answer. Every request sets it anew, so it
// is a middleware of the whole engine. Where a connection has no deadlines there
// is nothing to limit.
func boundWrites(c *gin.Context) {
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(answerTimeout))
}

// boundRead limits the time for a body; the web server takes the limit off again
// before the next request.
func boundRead(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
}
