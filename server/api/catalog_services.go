package api

import (
	"net"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
)

// catalogServices lists the services of a namespace as the console shows them.
func (a *API) catalogServices(c *call) (answer, error) {
	withInstances, err := c.SpringBool("withInstances")
	if err != nil {
		return answer{}, err
	}
	namespace, err := c.Namespace()
	if err != nil {
		return answer{}, err
	}
	first := 1
	if withInstances {
		first = 0
	}
	p, err := c.readExactPage(first)
	if err != nil {
		return answer{}, err
	}
	matching, err := c.serviceFilter()
	if err != nil {
		return answer{}, err
	}
	var all []*naming.Revision
	for _, r := range a.store.Services(namespace) {
		if matching(r) {
			all = append(all, r)
		}
	}
	shown := a.walks.services(a.walks.of(c, p, "namespaceId", "serviceNameParam", "groupNameParam", "hasIpCount", "instance", "withInstances"), p, all)
	if withInstances {
		return servicesWithInstances(shown)
	}
	services := make([]catalogEntry, 0, len(shown))
	for _, r := range shown {
		services = append(services, entryOf(r))
	}
	return jsonOf(struct {
		ServiceList []catalogEntry `json:"serviceList"`
		Count       int            `json:"count"`
	}{services, len(all)})
}

// catalogEntry is a line of the console's list.
type catalogEntry struct {
	Name                 string `json:"name"`
	GroupName            string `json:"groupName"`
	ClusterCount         int    `json:"clusterCount"`
	IPCount              int    `json:"ipCount"`
	HealthyInstanceCount int    `json:"healthyInstanceCount"`
	// TriggerFlag is text: whether protection is in force.
	TriggerFlag string `json:"triggerFlag"`
}

func entryOf(r *naming.Revision) catalogEntry {
	return catalogEntry{
		Name: r.Key().Name, GroupName: r.Key().Group, ClusterCount: len(r.Clusters()),
		IPCount: r.Len(), HealthyInstanceCount: r.HealthyCount(), TriggerFlag: strconv.FormatBool(r.Protected()),
	}
}

// servicesWithInstances is the other form of the list: an array.
func servicesWithInstances(revisions []*naming.Revision) (answer, error) {
	type host struct {
		Valid    bool              `json:"valid"`
		Metadata map[string]string `json:"metadata"`
		Port     int               `json:"port"`
		IP       string            `json:"ip"`
		Weight   wire.Float        `json:"weight"`
		Enabled  bool              `json:"enabled"`
	}
	type hosts struct {
		Hosts []host `json:"hosts"`
	}
	type service struct {
		ServiceName string            `json:"serviceName"`
		GroupName   string            `json:"groupName"`
		ClusterMap  map[string]hosts  `json:"clusterMap"`
		Metadata    map[string]string `json:"metadata"`
	}
	services := make([]service, 0, len(revisions))
	for _, r := range revisions {
		clusters := make(map[string]hosts)
		for _, name := range r.Clusters() {
			all := []host{}
			for i := range r.Cluster(name) {
				all = append(all, host{i.Healthy, notNull(i.Metadata), i.Port, i.IP, wire.Float(i.Weight), i.Enabled})
			}
			clusters[name] = hosts{all}
		}
		services = append(services, service{r.Key().Name, r.Key().Group, clusters, notNull(r.Service().Metadata)})
	}
	return jsonOf(services)
}

// serviceFilter reads which services the list is to show.
func (c *call) serviceFilter() (func(*naming.Revision) bool, error) {
	name, err := c.pattern("serviceNameParam")
	if err != nil {
		return nil, err
	}
	group, err := c.pattern("groupNameParam")
	if err != nil {
		return nil, err
	}
	onlyFilled, err := c.SpringBool("hasIpCount")
	if err != nil {
		return nil, err
	}
	hasAddress, err := addressFilter(c.Get("instance"))
	if err != nil {
		return nil, err
	}
	return func(r *naming.Revision) bool {
		return found(name, r.Key().Name) && found(group, r.Key().Group) && (!onlyFilled || r.Len() > 0) && hasAddress(r)
	}, nil
}

// addressFilter reads "ip" or "ip:port", where an IPv6 address before a port
// stands in brackets (SB-02).
func addressFilter(text string) (func(*naming.Revision) bool, error) {
	if text == "" {
		return func(*naming.Revision) bool { return true }, nil
	}
	port := -1
	ip, err := wire.ParseIP(text)
	if err != nil {
		host, number, splitErr := net.SplitHostPort(text)
		if splitErr != nil {
			return nil, err
		}
		if ip, err = wire.ParseIP(host); err != nil {
			return nil, err
		}
		if port, err = wire.ParsePort(strings.TrimSpace(number)); err != nil {
			return nil, err
		}
	}
	return func(r *naming.Revision) bool {
		for i := range r.All() {
			if i.IP == ip && (port < 0 || i.Port == port) {
				return true
			}
		}
		return false
	}, nil
}
