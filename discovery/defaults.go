package discovery

import (
	"strings"

	"github.com/rollcall-go/rollcall/registry"
)

// groupSeparator stands between group and name, as Nacos writes them.
const groupSeparator = "@@"

// ID returns the id that a name stands for: "name" in the client's namespace and
// group, or "GROUP@@name" in the client's namespace.
func (c *Client) ID(name string) registry.ServiceID {
	in := c.defaults.Load()
	id := registry.ServiceID{Namespace: in.namespace, Group: in.group, Name: name}
	if group, bare, ok := strings.Cut(name, groupSeparator); ok {
		id.Name = bare
		if group != "" {
			id.Group = group
		}
	}
	return id
}

// scope is where plain names are looked up. It is replaced as a whole, so that no
// name is ever completed from two.
type scope struct{ namespace, group string }

// Defaults returns the namespace and group in which plain names are looked up.
func (c *Client) Defaults() (namespace, group string) {
	in := c.defaults.Load()
	return in.namespace, in.group
}

// SetDefaults replaces Options.Namespace and Options.Group for every name that is
// completed from now on, by [Client.ID] and [Client.Services]; "" are the defaults
// of package registry. An id that was made before keeps its meaning, and so do
// subscriptions, cached lists and the files of Options.Disk.
func (c *Client) SetDefaults(namespace, group string) {
	id := registry.ServiceID{Namespace: namespace, Group: group}.Normalize()
	c.defaults.Store(&scope{id.Namespace, id.Group})
}
