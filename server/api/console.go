package api

import (
	"net/http"
	"strings"
)

// ProtocolVersion is the release of Nacos whose protocol this is.
const ProtocolVersion = "1.4.1"

func (a *API) serverState(*call) (answer, error) {
	return jsonOf(struct {
		Version      string  `json:"version"`
		Standalone   string  `json:"standalone_mode"`
		FunctionMode *string `json:"function_mode"`
	}{ProtocolVersion, "standalone", nil})
}

// liveness is whether the process works: it does, if it answers (SB-24).
func (a *API) liveness(*call) (answer, error) { return text("OK"), nil }

// readiness is whether naming calls are accepted on this node, and what is
// missing if not. What only persistent data lacks is said and no reason to send
// the others away (SB-24).
func (a *API) readiness(*call) (answer, error) {
	missing := a.Unready()
	if len(missing) == 0 {
		if limited := a.limited(); limited != "" {
			return text("OK, but " + limited), nil
		}
		return text("OK"), nil
	}
	reply := text("Naming is not in readiness: " + strings.Join(missing, "; "))
	reply.status = http.StatusServiceUnavailable
	return reply, nil
}

// Unready is what keeps the server from wanting naming calls; nothing when it is
// ready.
func (a *API) Unready() []string {
	if missing := a.loading(); len(missing) > 0 {
		return missing
	}
	if a.stopping() {
		return []string{"the server is stopping"}
	}
	if status := a.status(); status != statusUp {
		return []string{"the server status is " + status}
	}
	return nil
}
