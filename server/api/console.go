package api

import (
	"net/http"
	"slices"

	"github.com/rollcall-go/rollcall/internal/wire"
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

// readiness is whether the server wants traffic (SB-24).
func (a *API) readiness(*call) (answer, error) {
	missing := ""
	if status := a.status(); status != statusUp {
		missing = ": the server status is " + status
	}
	if !a.ready() {
		missing = ": the server is starting or stopping"
	}
	if missing == "" {
		return text("OK"), nil
	}
	reply := text("Naming is not in readiness" + missing)
	reply.status = http.StatusServiceUnavailable
	return reply, nil
}

// namespace is an entry of the console's list.
type namespace struct {
	Namespace   string  `json:"namespace"`
	ShowName    string  `json:"namespaceShowName"`
	Quota       int     `json:"quota"`
	ConfigCount int     `json:"configCount"`
	Type        int     `json:"type"`
	Desc        *string `json:"namespaceDesc,omitempty"`
}

const (
	publicType = 0
	customType = 2
	quota      = 200 // of configurations, of which there are none
)

// namespaces lists the namespaces that are in use: public, which has an empty id
// here and nowhere else, and those that services were registered in.
func (a *API) namespaces(c *call) (answer, error) {
	inUse := a.store.Namespaces()
	if c.StrictBool("checkNamespaceIdExist") {
		return jsonOf(slices.Contains(inUse, c.Get("customNamespaceId")))
	}
	if c.Get("show") == "all" {
		return a.oneNamespace(c, inUse)
	}
	list := []namespace{{"", wire.PublicNamespace, quota, 0, publicType, nil}}
	for _, id := range inUse {
		if id != wire.PublicNamespace {
			list = append(list, namespace{id, id, quota, 0, customType, nil})
		}
	}
	return jsonOf(struct {
		Code    int         `json:"code"`
		Message *string     `json:"message"`
		Data    []namespace `json:"data"`
	}{http.StatusOK, nil, list})
}

func (a *API) oneNamespace(c *call, inUse []string) (answer, error) {
	id, err := c.Namespace()
	if err != nil {
		return answer{}, err
	}
	desc := ""
	switch {
	case id == wire.PublicNamespace:
		return jsonOf(namespace{"", id, quota, 0, publicType, &desc})
	case slices.Contains(inUse, id):
		return jsonOf(namespace{id, id, quota, 0, customType, &desc})
	}
	return answer{}, notFoundf("no namespace %s found!", wire.Excerpt(id))
}
