package api

import (
	"net/http"
	"slices"

	"github.com/rollcall-go/rollcall/server/auth"
)

// Routes returns what there is, for documents and tests.
func Routes() []Route { return (*API)(nil).routes() }

const (
	get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete

	readers, writers = auth.Read, auth.Write
)

// routes is the one table of endpoints. The naming part stands behind the
// traffic gate; the others, as in Nacos, do not.
func (a *API) routes() []Route {
	instance, operator := a.instanceRoutes("/v1/ns/instance"), a.operatorRoutes("/v1/ns/operator")
	return slices.Concat(
		instance,
		a.serviceRoutes("/v1/ns/service"),
		a.catalogRoutes("/v1/ns/catalog"),
		a.clusterRoutes("/v1/ns"),
		operator,
		under("/v1/ns/operator", "/v1/ns/ops", operator),
		a.legacyRoutes("/v1/ns/api"),
		under("/v1/ns/instance", "/v1/ns/api", instance),
		a.peerRoutes("/v1/ns"),
		a.coreRoutes("/v1/core"),
		a.consoleRoutes("/v1/console"),
		a.authRoutes("/v1/auth"),
	)
}

func (a *API) instanceRoutes(root string) []Route {
	read, write := onService(readers), onService(writers)
	return []Route{
		{Method: post, Path: root, Access: write, handle: a.registerInstance, Doc: "registers an instance"},
		{
			Method: put, Path: root, Access: write, handle: a.updateInstance,
			Doc: "changes one; for agents other than Java 1.0.0 and later it also creates",
		},
		{Method: patch, Path: root, Access: write, handle: a.patchInstance, Doc: "changes only what is named"},
		{Method: del, Path: root, Access: write, handle: a.deregisterInstance, Doc: "deregisters"},
		{Method: get, Path: root, Access: read, handle: a.instanceDetail, Doc: "shows one instance with its real health"},
		{Method: get, Path: root + "/list", Access: read, handle: a.listInstances, Doc: "lists instances and subscribes to pushes"},
		{Method: put, Path: root + "/beat", Access: write, Beat: true, handle: a.beat, Doc: "takes a beat"},
		{Method: get, Path: root + "/statuses", Access: peers(), handle: a.instanceStatuses, Doc: "addresses with their health, in short"},
		{Method: put, Path: root + "/metadata/batch", Access: write, handle: a.mergeMetadata, Doc: "sets metadata keys of several instances"},
		{Method: del, Path: root + "/metadata/batch", Access: write, handle: a.removeMetadata, Doc: "removes metadata keys of several instances"},
	}
}

func (a *API) serviceRoutes(root string) []Route {
	read, write := onService(readers), onService(writers)
	return []Route{
		{Method: post, Path: root, Access: write, handle: a.createService, Doc: "creates a service"},
		{Method: put, Path: root, Access: write, handle: a.updateService, Doc: "changes a service"},
		{Method: del, Path: root, Access: write, handle: a.deleteService, Doc: "removes a service with its instances"},
		{Method: get, Path: root, Access: read, handle: a.serviceDetail, Doc: "shows a service"},
		{Method: get, Path: root + "/list", Access: onNamespace(readers), handle: a.listServices, Doc: "lists services by page"},
		{Method: get, Path: root + "/names", Access: everywhere(readers), handle: a.serviceNames, Doc: "names of services by namespace"},
		{Method: get, Path: root + "/subscribers", Access: read, handle: a.listSubscribers, Doc: "lists the clients that are pushed to"},
		{Method: put, Path: root + "/checksum", Access: peers(), handle: a.serviceChecksum, Doc: "a digest of a service's state"},
		{Method: post, Path: root + "/status", Access: peers(), handle: a.serviceStatus, Doc: "refused: the sender is in no list of servers"},
	}
}

// catalogRoutes are what the console shows.
func (a *API) catalogRoutes(root string) []Route {
	read := onService(readers)
	return []Route{
		{Method: get, Path: root + "/services", Access: onNamespace(readers), handle: a.catalogServices, Doc: "services with their counts, by page"},
		{Method: get, Path: root + "/service", Access: read, handle: a.catalogService, Doc: "a service with its clusters"},
		{Method: get, Path: root + "/instances", Access: read, handle: a.catalogInstances, Doc: "everything about a cluster's instances, by page"},
		{Method: get, Path: root + "/rt/service", Access: read, handle: a.catalogTimes, Doc: "how long the health checks of a service take"},
	}
}

func (a *API) clusterRoutes(root string) []Route {
	write := onService(writers)
	return []Route{
		{Method: put, Path: root + "/cluster", Access: write, handle: a.updateCluster, Doc: "sets how a cluster's instances are checked"},
		{Method: put, Path: root + "/health", Access: write, handle: a.setHealth, Doc: "sets an instance's health where nothing is checked"},
		{Method: put, Path: root + "/health/instance", Access: write, handle: a.setHealth, Doc: "the same as `/v1/ns/health`"},
		{Method: get, Path: root + "/health/server", Access: signedIn(), handle: a.serverHealth, Doc: "a sentence about the server"},
	}
}

func (a *API) operatorRoutes(root string) []Route {
	return []Route{
		{Method: get, Path: root + "/metrics", Access: signedIn(), handle: a.operatorMetrics, Doc: "status and counts"},
		{Method: get, Path: root + "/switches", Access: onSwitches(readers), handle: a.showSwitches, Always: true, Doc: "shows the switches"},
		{Method: put, Path: root + "/switches", Access: onSwitches(writers), handle: a.setSwitch, Always: true, Doc: "sets a switch"},
		{Method: get, Path: root + "/servers", Access: signedIn(), handle: a.operatorServers, Doc: "the servers: this one"},
		{Method: get, Path: root + "/distro/server", Access: onService(readers), handle: a.responsibleServer, Doc: "which server answers for a service: this one"},
		{Method: get, Path: root + "/distro/status", Access: peers(), handle: a.distroStatus, Doc: "the servers once more"},
		{Method: get, Path: root + "/push/state", Access: signedIn(), handle: a.pushState, Doc: "how many pushes were acknowledged"},
		{Method: get, Path: root + "/cluster/state", Access: peers(), handle: a.clusterState, Doc: "this server as a peer of Nacos' old raft"},
		{Method: get, Path: root + "/server/status", Access: peers(), handle: a.reportServerStatus, Doc: "the report of a server before 1.0, which changes nothing"},
		{Method: put, Path: root + "/log", Access: adminsOn("server/log"), handle: notOffered(logNotOffered), Doc: "refused: the level is a setting"},
	}
}

// legacyRoutes are for clients before 0.8. They need the rights of what they
// stand for.
func (a *API) legacyRoutes(root string) []Route {
	return []Route{
		{Method: get, Path: root + "/allDomNames", Access: everywhere(readers), handle: a.allDomNames, Doc: "names of services, for clients before 0.8"},
		{Method: get, Path: root + "/srvIPXT", Access: onDom(readers), handle: a.legacyList, Doc: "lists instances, for clients before 0.8"},
		{Method: get, Path: root + "/clientBeat", Access: onDom(writers), Beat: true, handle: a.legacyBeat, Doc: "takes a beat, for clients before 0.8"},
	}
}

// peerRoutes are what Nacos' servers say to each other. Nothing of it is taken.
func (a *API) peerRoutes(root string) []Route {
	var routes []Route
	for _, r := range [...][2]string{
		{post, "/vote"},
		{post, "/beat"},
		{get, "/peer"},
		{put, "/datum/reload"},
		{post, "/datum"},
		{del, "/datum"},
		{get, "/datum"},
		{post, "/datum/commit"},
		{del, "/datum/commit"},
		{get, "/state"},
		{get, "/leader"},
		{get, "/listeners"},
	} {
		routes = append(routes, Route{
			Method: r[0], Path: root + "/raft" + r[1], Access: peers(), handle: oldRaft,
			Doc: "refused with 500, as by Nacos since 1.4.0",
		})
	}
	for _, r := range [...][2]string{{put, "/datum"}, {put, "/checksum"}, {get, "/datum"}, {get, "/datums"}} {
		routes = append(routes, Route{
			Method: r[0], Path: root + "/distro" + r[1], Access: peers(), handle: notOffered(distroNotOffered),
			Doc: "refused with 501: data is not exchanged with Nacos",
		})
	}
	return routes
}

func (a *API) coreRoutes(root string) []Route {
	cluster := root + "/cluster"
	return []Route{
		{Method: get, Path: cluster + "/nodes", Access: signedIn(), handle: a.clusterNodes, Always: true, Doc: "the members: this server"},
		{Method: get, Path: cluster + "/self", Access: signedIn(), handle: a.clusterSelf, Always: true, Doc: "this server"},
		{Method: get, Path: cluster + "/simple/nodes", Access: signedIn(), handle: a.clusterAddresses, Always: true, Doc: "the members' addresses"},
		{Method: get, Path: cluster + "/health", Access: signedIn(), handle: a.clusterHealth, Always: true, Doc: "whether this member is up"},
		{
			Method: post, Path: cluster + "/report", Access: peers(), handle: a.clusterReport, Always: true,
			Doc: "whether a member is known; nothing of the report is taken",
		},
		{
			Method: post, Path: cluster + "/switch/lookup", Access: peers(), handle: a.clusterLookup, Always: true,
			Doc: "refused in the envelope: there are no members to look up",
		},
		{
			Method: post, Path: cluster + "/server/leave", Access: peers(), handle: a.clusterLeave, Always: true,
			Doc: "members that leave; this server itself cannot",
		},
		{
			Method: post, Path: root + "/ops/raft", Access: adminsOn("cluster/raft"), handle: notOffered(raftNotOffered), Always: true,
			Doc: "refused with 501: the log is nobody's business",
		},
		{
			Method: get, Path: root + "/ops/idInfo", Access: adminsOn("cluster/ids"), handle: a.idInfo, Always: true,
			Doc: "the generators of ids: none",
		},
	}
}

func (a *API) consoleRoutes(root string) []Route {
	namespaces := adminsOn("console/namespaces")
	return []Route{
		{Method: get, Path: root + "/server/state", Access: open(), handle: a.serverState, Always: true, Doc: "version and mode"},
		{Method: get, Path: root + "/health/liveness", Access: open(), handle: a.liveness, Always: true, Head: true, Doc: "whether the process works"},
		{
			Method: get, Path: root + "/health/readiness", Access: open(), handle: a.readiness, Always: true, Head: true,
			Doc: "whether it wants traffic, and what is missing if not",
		},
		{
			Method: get, Path: root + "/namespaces", Access: signedIn(), handle: a.namespaces, Always: true,
			Doc: "the namespaces that were created or are in use; one; or whether an id is taken",
		},
		{Method: post, Path: root + "/namespaces", Access: namespaces, handle: a.createNamespace, Always: true, Doc: "creates a namespace"},
		{Method: put, Path: root + "/namespaces", Access: namespaces, handle: a.updateNamespace, Always: true, Doc: "renames a namespace"},
		{Method: del, Path: root + "/namespaces", Access: namespaces, handle: a.deleteNamespace, Always: true, Doc: "removes a namespace, and no service"},
	}
}

func (a *API) authRoutes(root string) []Route {
	users, roles, permissions := root+"/users", root+"/roles", root+"/permissions"
	ofUsers, ofRoles, ofPermissions := adminsOn("console/users"), adminsOn("console/roles"), adminsOn("console/permissions")
	managed := []Route{
		{Method: get, Path: users, Access: ofUsers, handle: a.listUsers, Doc: "users by page"},
		{Method: get, Path: users + "/search", Access: ofUsers, handle: a.searchUsers, Doc: "names of users that contain a text"},
		{Method: post, Path: users, Access: ofUsers, handle: a.createUser, Doc: "creates a user"},
		{
			Method: put, Path: users, Access: signedIn(), handle: a.changePassword,
			Doc: "sets a password: one's own, or anybody's for administrators",
		},
		{Method: del, Path: users, Access: ofUsers, handle: a.deleteUser, Doc: "removes a user with the user's roles"},
		{Method: get, Path: roles, Access: ofRoles, handle: a.listRoles, Doc: "who has which role, by page"},
		{Method: get, Path: roles + "/search", Access: ofRoles, handle: a.searchRoles, Doc: "names of roles that contain a text"},
		{Method: post, Path: roles, Access: ofRoles, handle: a.addRole, Doc: "gives a user a role"},
		{Method: del, Path: roles, Access: ofRoles, handle: a.removeRole, Doc: "takes a role from a user, or from all with its permissions"},
		{Method: get, Path: permissions, Access: ofPermissions, handle: a.listPermissions, Doc: "what roles may do, by page"},
		{Method: post, Path: permissions, Access: ofPermissions, handle: a.addPermission, Doc: "lets a role do something"},
		{Method: del, Path: permissions, Access: ofPermissions, handle: a.removePermission, Doc: "takes that back"},
	}
	for i := range managed {
		managed[i].Always, managed[i].TokenOnly, managed[i].handle = true, true, a.managed(managed[i].handle)
	}
	return append([]Route{
		{Method: post, Path: root + "/login", Access: open(), handle: a.login, Always: true, Doc: "a token for a name and password"},
		{Method: post, Path: users + "/login", Access: open(), handle: a.login, Always: true, Doc: "the same as `/v1/auth/login`"},
	}, managed...)
}
