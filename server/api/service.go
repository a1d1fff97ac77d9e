package api

import (
	"errors"
	"fmt"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/state"
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

// settings are checked settings of a service as the state keeps them.
func settings(k wire.ServiceKey, info naming.ServiceInfo) (state.Service, error) {
	selector, err := info.Selector.MarshalJSON()
	if err != nil {
		return state.Service{}, fmt.Errorf("write a selector: %w", err)
	}
	return state.Service{
		Key: k, ProtectThreshold: info.ProtectThreshold, Metadata: info.Metadata, Selector: selector,
	}, nil
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
	if err := a.store.CheckCreateService(k, info); err != nil {
		return answer{}, err
	}
	service, err := settings(k, info)
	if err != nil {
		return answer{}, err
	}
	return a.change(c, &state.CreateService{Service: service})
}

// updateService replaces everything: what is left out is reset. A service that
// only its instances made has settings from then on.
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
	if err := a.store.CheckUpdateService(k, info); err != nil {
		return answer{}, err
	}
	service, err := settings(k, info)
	if err != nil {
		return answer{}, err
	}
	return a.change(c, &state.PutService{Service: service})
}

// deleteService removes a service with all its instances. Clients that are alive
// bring it back with their next beat.
func (a *API) deleteService(c *call) (answer, error) {
	k, err := c.boundServiceKey()
	if err != nil {
		return answer{}, err
	}
	if err := a.store.CheckDeleteService(k); err != nil {
		return answer{}, err
	}
	_, err = a.propose(c, &state.DeleteService{Service: k})
	if errors.Is(err, state.ErrServiceNotFound) { // it has nothing but ephemeral instances
		err = a.store.RemoveService(k)
	}
	return ok, err
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
	Name          string               `json:"name"`
	HealthChecker naming.HealthChecker `json:"healthChecker"`
	Metadata      map[string]string    `json:"metadata"`
}

func (a *API) serviceDetail(c *call) (answer, error) {
	k, revision, err := a.catalogued(c)
	if err != nil {
		return answer{}, err
	}
	info := revision.Service()
	clusters := []clusterDetail{}
	for _, name := range revision.Clusters() {
		cluster := revision.ClusterInfo(name)
		clusters = append(clusters, clusterDetail{name, a.checkerFor(c, k, cluster.Checker), notNull(cluster.Metadata)})
	}
	return jsonOf(serviceDetail{
		Name:             k.Name,
		NamespaceID:      k.Namespace,
		ProtectThreshold: wire.Float(info.ProtectThreshold),
		Metadata:         notNull(info.Metadata),
		Selector:         info.Selector,
		GroupName:        k.Group,
		Clusters:         clusters,
	})
}
