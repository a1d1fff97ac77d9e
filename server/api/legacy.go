package api

import "github.com/rollcall-go/rollcall/internal/wire"

// legacyKey reads the service of a client before 0.8: a bare name, always of the
// default group and the public namespace unless one is named.
func (c *call) legacyKey() (wire.ServiceKey, error) {
	dom, err := c.Required("dom")
	if err != nil {
		return wire.ServiceKey{}, err
	}
	name, err := wire.ParseServiceName(wire.DefaultGroup+wire.GroupSeparator+dom, "")
	if err != nil {
		return wire.ServiceKey{}, err
	}
	namespace, err := c.Namespace()
	return wire.ServiceKey{Namespace: namespace, ServiceName: name}, err
}

func (a *API) legacyList(c *call) (answer, error) {
	k, err := c.legacyKey()
	if err != nil {
		return answer{}, err
	}
	return a.listOf(c, k)
}

func (a *API) legacyBeat(c *call) (answer, error) {
	k, err := c.legacyKey()
	if err != nil {
		return a.malformedBeat(c, err)
	}
	return a.beatOf(c, k)
}

// nestedFrom is the version from which on Nacos' DNS client wants the names of
// every namespace. Before, it wants those of the public one alone.
var nestedFrom = [3]int{1, 0, 2}

// allDomNames lists bare names by namespace; the count is of the names.
func (a *API) allDomNames(c *call) (answer, error) {
	namespaces, err := a.namespacesOf(c)
	if err != nil {
		return answer{}, err
	}
	count := 0
	doms := make(map[string][]string)
	for _, namespace := range namespaces {
		names := []string{}
		for _, r := range a.store.Services(namespace) {
			names = append(names, r.Key().Name)
		}
		doms[namespace] = names
		count += len(names)
	}
	if agent := c.agent(); agent.Kind == wire.AgentDNS && !agent.AtLeast(nestedFrom) {
		public := doms[wire.PublicNamespace]
		if public == nil {
			public = []string{}
		}
		return jsonOf(struct {
			Count int      `json:"count"`
			Doms  []string `json:"doms"`
		}{count, public})
	}
	return jsonOf(struct {
		Count int                 `json:"count"`
		Doms  map[string][]string `json:"doms"`
	}{count, doms})
}
