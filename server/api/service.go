package api

import (
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
)

// serviceInfo reads what creating and changing a service have in common.
func (c *call) serviceInfo() (naming.ServiceInfo, error) {
	var info naming.ServiceInfo
	threshold, err := c.Float("protectThreshold", 0)
	if err != nil {
		return info, err
	}
	info.ProtectThreshold = threshold
	if info.Metadata, err = wire.ParseMetadata(c.Get("metadata")); err != nil {
		return info, err
	}
	info.Selector, err = naming.ParseSelector(c.Get("selector"))
	return info, err
}

func (a *API) createService(c *call) (answer, error) {
	k, err := c.boundServiceKey()
	if err != nil {
		return answer{}, err
	}
	info, err := c.serviceInfo()
	if err != nil {
		return answer{}, err
	}
	return ok, a.store.CreateService(k, info)
}

// updateService replaces everything: what is left out is reset.
func (a *API) updateService(c *call) (answer, error) {
	k, err := c.ServiceKey()
	if err != nil {
		return answer{}, err
	}
	if _, err := c.Required("protectThreshold"); err != nil {
		return answer{}, err
	}
	info, err := c.serviceInfo()
	if err != nil {
		return answer{}, err
	}
	return ok, a.store.UpdateService(k, info)
}

// deleteService removes a service with all its instances. Clients that are alive
// bring it back with their next beat.
func (a *API) deleteService(c *call) (answer, error) {
	k, err := c.boundServiceKey()
	if err != nil {
		return answer{}, err
	}
	return ok, a.store.DeleteService(k)
}

// serviceDetail is a service's document.
type serviceDetail struct {
	Name             string            `json:"name"`
	NamespaceID      string            `json:"namespaceId"`
	ProtectThreshold wire.Float        `json:"protectThreshold"`
	Metadata         map[string]string `json:"metadata"`
	Selector         naming.Selector   `json:"selector"`
	GroupName        string            `json:"groupName"`
	Clusters         []clusterDetail   `json:"clusters"`
}

type clusterDetail struct {
	Name          string            `json:"name"`
	HealthChecker healthChecker     `json:"healthChecker"`
	Metadata      map[string]string `json:"metadata"`
}

// healthChecker is always Nacos' default: ephemeral instances are not probed.
type healthChecker struct {
	Type string `json:"type"`
}

func (a *API) serviceDetail(c *call) (answer, error) {
	k, err := c.boundServiceKey()
	if err != nil {
		return answer{}, err
	}
	revision, found := a.store.Lookup(k)
	if !found {
		return answer{}, notFoundf("service %s is not found!", k.ServiceName)
	}
	info := revision.Service()
	clusters := []clusterDetail{}
	for _, name := range revision.Clusters() {
		clusters = append(clusters, clusterDetail{name, healthChecker{"TCP"}, map[string]string{}})
	}
	return jsonOf(serviceDetail{
		Name:             k.Name,
		NamespaceID:      k.Namespace,
		ProtectThreshold: wire.Float(info.ProtectThreshold),
		Metadata:         orEmpty(info.Metadata),
		Selector:         info.Selector,
		GroupName:        k.Group,
		Clusters:         clusters,
	})
}

// orEmpty makes an object of what has no metadata; clients expect one.
func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
