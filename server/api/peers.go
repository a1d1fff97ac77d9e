package api

import (
	"cmp"
	"net/http"

	"github.com/rollcall-go/rollcall/internal/wire"
)

const (
	distroNotOffered = "this server exchanges no data with Nacos servers; nothing was taken or given"
	raftNotOffered   = "operations on the log are not offered here"
	logNotOffered    = "the log level is set by logging.level in the configuration"
)

// oldRaft answers as Nacos has since 1.4.0, with its status.
func oldRaft(*call) (answer, error) {
	return answer{}, &statusError{http.StatusInternalServerError, "old raft protocol already stop"}
}

// serviceStatus would take the checksums of a peer. There are no peers, and
// nobody becomes one by saying so (SB-17).
func (a *API) serviceStatus(c *call) (answer, error) {
	var report struct {
		ClientIP string `json:"clientIP"`
	}
	if err := c.document(&report); err != nil {
		return answer{}, err
	}
	sender := cmp.Or(report.ClientIP, c.Get("clientIP"), requester(c.request).String())
	return answer{}, wire.BadRequestf("ip: %s is not in serverlist", wire.Excerpt(sender))
}

// reportServerStatus takes the report of a server of before 1.0: nothing comes
// of it.
func (a *API) reportServerStatus(*call) (answer, error) { return ok, nil }
