package api

import "net/http"

// Route is one endpoint.
type Route struct {
	// Method and Path, without the context path.
	Method, Path string
	// Always lets it through whatever the server's status, see [API.gate].
	Always bool
	// Head answers HEAD as well, as probes of load balancers send it.
	Head   bool
	handle handle
}

// handle answers one request or says what is wrong with it.
type handle func(*call) (answer, error)

// Routes returns what there is, for documents and tests.
func Routes() []Route { return (*API)(nil).routes() }

// routes is the one table of endpoints. The naming part stands behind the
// traffic gate; the others, as in Nacos, do not.
func (a *API) routes() []Route {
	const (
		get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete

		instance = "/v1/ns/instance"
		service  = "/v1/ns/service"
		operator = "/v1/ns/operator"
		ops      = "/v1/ns/ops" // its other name
		console  = "/v1/console"
		auth     = "/v1/auth"
	)
	return []Route{
		{Method: post, Path: instance, handle: a.registerInstance},
		{Method: put, Path: instance, handle: a.updateInstance},
		{Method: patch, Path: instance, handle: a.patchInstance},
		{Method: del, Path: instance, handle: a.deregisterInstance},
		{Method: get, Path: instance, handle: a.instanceDetail},
		{Method: get, Path: instance + "/list", handle: a.listInstances},
		{Method: put, Path: instance + "/beat", handle: a.beat},
		{Method: get, Path: instance + "/statuses", handle: a.instanceStatuses},
		{Method: put, Path: instance + "/metadata/batch", handle: a.mergeMetadata},
		{Method: del, Path: instance + "/metadata/batch", handle: a.removeMetadata},

		{Method: post, Path: service, handle: a.createService},
		{Method: put, Path: service, handle: a.updateService},
		{Method: del, Path: service, handle: a.deleteService},
		{Method: get, Path: service, handle: a.serviceDetail},
		{Method: get, Path: service + "/list", handle: a.listServices},
		{Method: get, Path: service + "/subscribers", handle: a.listSubscribers},

		{Method: get, Path: operator + "/metrics", handle: a.operatorMetrics},
		{Method: get, Path: ops + "/metrics", handle: a.operatorMetrics},
		{Method: get, Path: operator + "/switches", handle: a.showSwitches, Always: true},
		{Method: get, Path: ops + "/switches", handle: a.showSwitches, Always: true},
		{Method: put, Path: operator + "/switches", handle: a.setSwitch, Always: true},
		{Method: put, Path: ops + "/switches", handle: a.setSwitch, Always: true},

		{Method: get, Path: console + "/server/state", handle: a.serverState, Always: true},
		{Method: get, Path: console + "/health/liveness", handle: a.liveness, Always: true, Head: true},
		{Method: get, Path: console + "/health/readiness", handle: a.readiness, Always: true, Head: true},
		{Method: get, Path: console + "/namespaces", handle: a.namespaces, Always: true},
		{Method: post, Path: console + "/namespaces", handle: notOffered(namespacesNotOffered), Always: true},
		{Method: put, Path: console + "/namespaces", handle: notOffered(namespacesNotOffered), Always: true},
		{Method: del, Path: console + "/namespaces", handle: notOffered(namespacesNotOffered), Always: true},

		{Method: post, Path: auth + "/login", handle: notOffered(authNotOffered), Always: true},
		{Method: post, Path: auth + "/users/login", handle: notOffered(authNotOffered), Always: true},
	}
}
