package api

import (
	"strings"

	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/shed"
)

// Route is one endpoint: where it is, who may use it, and what it does. The
// table of routes is the one place that says any of it.
type Route struct {
	// Method and Path, without the context path.
	Method, Path string
	// Doc says in a few words what it does, for docs/compatibility.md.
	Doc string
	// Access is who may use it while authentication is on.
	Access Access
	// Always lets it through whatever the server's status, see [API.gate].
	Always bool
	// Head answers HEAD as well, as probes of load balancers send it.
	Head bool
	// TokenOnly says that name and password are not the caller's: they are about
	// the user that the request names.
	TokenOnly bool
	// Beat says that it takes a sign of life, which is turned away last of all.
	Beat   bool
	handle handle
}

// load says what kind of load the route is. What an operator or a probe looks at
// is none: it is needed most when there is too much of the rest.
func (r Route) load() (kind shed.Kind, is bool) {
	switch kind := r.Access.kind; {
	case r.Always, kind == openAccess, kind == signedInAccess && r.Method == get:
		return 0, false
	case r.Beat:
		return shed.Beat, true
	case r.Method == get:
		return shed.Read, true
	}
	return shed.Change, true
}

// handle answers one request or says what is wrong with it.
type handle func(*call) (answer, error)

// Access is what a caller needs for a route while authentication is on. The zero
// Access is given to administrators alone, so that a route nobody thought about
// is closed.
type Access struct {
	kind   accessKind
	action auth.Action
	name   string // of a resource for administrators
}

type accessKind uint8

const (
	adminAccess accessKind = iota
	openAccess
	signedInAccess
	serviceAccess
	namespaceAccess
	legacyAccess
	everywhereAccess
	switchesAccess
)

// open is for everyone, without any credentials: the logins, the health of the
// process, and what a console shows beside its login form. Nothing that is open
// says what is registered.
func open() Access { return Access{kind: openAccess} }

// signedIn is for every user, whatever the permissions; the handler decides
// what about.
func signedIn() Access { return Access{kind: signedInAccess} }

// onService needs a permission on the service that the request names, or on the
// whole namespace where it names none.
func onService(action auth.Action) Access { return Access{kind: serviceAccess, action: action} }

// onNamespace needs a permission on the whole namespace, for lists of what is in
// it. A service that the request names as well counts for nothing there, and so
// does it here.
func onNamespace(action auth.Action) Access { return Access{kind: namespaceAccess, action: action} }

// onDom is onService for requests that name the service as clients before 0.8 do.
func onDom(action auth.Action) Access { return Access{kind: legacyAccess, action: action} }

// everywhere is onNamespace for requests that reach into every namespace when
// they name none.
func everywhere(action auth.Action) Access { return Access{kind: everywhereAccess, action: action} }

// onSwitches needs a permission on the switches.
func onSwitches(action auth.Action) Access { return Access{kind: switchesAccess, action: action} }

// adminsOn is for administrators, whatever permissions there are.
func adminsOn(name string) Access { return Access{name: name, action: auth.Write} }

// peers is for other servers, which prove themselves otherwise than by saying so
// (SB-17). One node has none, so that only an administrator gets through.
func peers() Access { return adminsOn("cluster/peers") }

// String says who is let in, for the document.
func (a Access) String() string {
	right := map[auth.Action]string{auth.Read: "read", auth.Write: "write"}[a.action]
	switch a.kind {
	case openAccess:
		return "everyone"
	case signedInAccess:
		return "every user"
	case serviceAccess, legacyAccess:
		return right + ", service"
	case namespaceAccess:
		return right + ", namespace"
	case everywhereAccess:
		return right + ", namespace or all"
	case switchesAccess:
		return right + ", switches"
	}
	return "administrators"
}

// resource returns what a request is about, in the terms of permissions.
func (a Access) resource(c *call) (auth.Resource, error) {
	switch a.kind {
	case serviceAccess:
		return c.resource()
	case namespaceAccess:
		return c.wholeNamespace()
	case legacyAccess:
		k, err := c.legacyKey()
		return auth.NamingResource(k.Namespace, k.Group, k.Name), err
	case everywhereAccess:
		if c.Get("namespaceId") == "" {
			return auth.NamingResource("*", "", ""), nil
		}
		return c.wholeNamespace()
	case switchesAccess:
		return auth.SwitchesResource(), nil
	}
	name := a.name
	if name == "" {
		name = "unassigned"
	}
	return auth.AdminResource(name), nil
}

// resource is the service that a request names, or its namespace.
func (c *call) resource() (auth.Resource, error) {
	namespace, err := c.Namespace()
	if err != nil {
		return auth.Resource{}, err
	}
	if c.Get("serviceName", "dom") == "" {
		return auth.NamingResource(namespace, "", ""), nil
	}
	name, err := c.ServiceName()
	if err != nil {
		return auth.Resource{}, err
	}
	return auth.NamingResource(namespace, name.Group, name.Name), nil
}

// wholeNamespace is everything in the namespace that a request names.
func (c *call) wholeNamespace() (auth.Resource, error) {
	namespace, err := c.Namespace()
	return auth.NamingResource(namespace, "", ""), err
}

// under gives routes another root: Nacos knows some by two names.
func under(root, other string, routes []Route) []Route {
	same := make([]Route, len(routes))
	for i, r := range routes {
		same[i] = r
		same[i].Path = other + strings.TrimPrefix(r.Path, root)
		same[i].Doc = "the same as `" + r.Path + "`"
	}
	return same
}
