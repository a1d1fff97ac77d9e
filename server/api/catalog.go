package api

import (
	"math"
	"slices"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
)

// catalogService shows a service with the settings of its clusters.
func (a *API) catalogService(c *call) (answer, error) {
	k, revision, err := a.catalogued(c)
	if err != nil {
		return answer{}, err
	}
	type service struct {
		Name             string            `json:"name"`
		ProtectThreshold wire.Float        `json:"protectThreshold"`
		GroupName        string            `json:"groupName"`
		Selector         naming.Selector   `json:"selector"`
		Metadata         map[string]string `json:"metadata"`
	}
	info := revision.Service()
	clusters := []catalogCluster{}
	for _, name := range revision.Clusters() {
		clusters = append(clusters, a.clusterOf(c, revision, name))
	}
	return jsonOf(struct {
		Service  service          `json:"service"`
		Clusters []catalogCluster `json:"clusters"`
	}{service{k.Name, wire.Float(info.ProtectThreshold), k.Group, info.Selector, notNull(info.Metadata)}, clusters})
}

// catalogued reads which service is meant and finds it.
func (a *API) catalogued(c *call) (wire.ServiceKey, *naming.Revision, error) {
	k, err := c.boundServiceKey()
	if err != nil {
		return k, nil, err
	}
	revision, found := a.store.Lookup(k)
	if !found {
		return k, nil, notFoundf("service %s is not found!", k.ServiceName)
	}
	return k, revision, nil
}

// catalogCluster is a cluster as the console edits it.
type catalogCluster struct {
	ServiceName      string               `json:"serviceName"`
	Name             string               `json:"name"`
	HealthChecker    naming.HealthChecker `json:"healthChecker"`
	DefaultPort      int                  `json:"defaultPort"`
	DefaultCheckPort int                  `json:"defaultCheckPort"`
	UseIPPort4Check  bool                 `json:"useIPPort4Check"`
	Metadata         map[string]string    `json:"metadata"`
	Sitegroup        string               `json:"sitegroup"`
	DefCkport        int                  `json:"defCkport"`
	DefIPPort        int                  `json:"defIPPort"`
	Empty            bool                 `json:"empty"`
}

// defaultPort is what Nacos shows for the port that an instance without one
// would have; there is no such instance.
const defaultPort = 80

func (a *API) clusterOf(c *call, r *naming.Revision, name string) catalogCluster {
	info := r.ClusterInfo(name)
	return catalogCluster{
		ServiceName: r.GroupedName(), Name: name, HealthChecker: a.checkerFor(c, r.Key(), info.Checker),
		DefaultPort: defaultPort, DefaultCheckPort: info.CheckPort, UseIPPort4Check: info.UseInstancePort,
		Metadata: notNull(info.Metadata), DefCkport: info.CheckPort, DefIPPort: defaultPort,
		Empty: isEmpty(r, name),
	}
}

func isEmpty(r *naming.Revision, cluster string) bool {
	for range r.Cluster(cluster) {
		return false
	}
	return true
}

// catalogInstance is everything about an instance. Its health is the real one
// (SB-09).
type catalogInstance struct {
	InstanceID        string            `json:"instanceId"`
	IP                string            `json:"ip"`
	Port              int               `json:"port"`
	Weight            wire.Float        `json:"weight"`
	Healthy           bool              `json:"healthy"`
	Enabled           bool              `json:"enabled"`
	Ephemeral         bool              `json:"ephemeral"`
	ClusterName       string            `json:"clusterName"`
	ServiceName       string            `json:"serviceName"`
	Metadata          map[string]string `json:"metadata"`
	LastBeat          int64             `json:"lastBeat"`
	Marked            bool              `json:"marked"`
	App               string            `json:"app"`
	HeartBeatInterval int64             `json:"instanceHeartBeatInterval"`
	HeartBeatTimeOut  int64             `json:"instanceHeartBeatTimeOut"`
	IPDeleteTimeout   int64             `json:"ipDeleteTimeout"`
	IDGenerator       string            `json:"instanceIdGenerator,omitempty"`
}

// metadataIDGenerator is the metadata key that chooses how ids are made.
const metadataIDGenerator = "preserved.instance.id.generator"

func instanceOf(i *naming.Instance, grouped string) catalogInstance {
	generator := i.Metadata[metadataIDGenerator]
	if len(i.Metadata) == 0 {
		generator = "simple"
	}
	return catalogInstance{
		InstanceID: i.ID, IP: i.IP, Port: i.Port, Weight: wire.Float(i.Weight), Healthy: i.Healthy,
		Enabled: i.Enabled, Ephemeral: i.Ephemeral, ClusterName: i.Cluster, ServiceName: grouped,
		Metadata: notNull(i.Metadata), LastBeat: i.LastBeat().UnixMilli(), App: i.App,
		HeartBeatInterval: i.Intervals.Beat.Milliseconds(), HeartBeatTimeOut: i.Intervals.Timeout.Milliseconds(),
		IPDeleteTimeout: i.Intervals.Delete.Milliseconds(), IDGenerator: generator,
	}
}

// catalogInstances lists a cluster's instances of both kinds by page.
func (a *API) catalogInstances(c *call) (answer, error) {
	name, err := c.bound("clusterName")
	if err != nil {
		return answer{}, err
	}
	p, err := c.readExactPage(1)
	if err != nil {
		return answer{}, err
	}
	cluster, err := wire.ParseCluster(name)
	if err != nil {
		return answer{}, err
	}
	_, revision, err := a.catalogued(c)
	if err != nil {
		return answer{}, err
	}
	all := slices.Collect(revision.Cluster(cluster))
	if len(all) == 0 && !knowsCluster(revision, cluster) {
		return answer{}, notFoundf("cluster %s is not found!", cluster)
	}
	shown := []catalogInstance{}
	for _, i := range a.walks.instances(a.walks.of(c, p, "namespaceId", "serviceName", "dom", "groupName", "clusterName"), p, all) {
		shown = append(shown, instanceOf(i, revision.GroupedName()))
	}
	return jsonOf(struct {
		List  []catalogInstance `json:"list"`
		Count int               `json:"count"`
	}{shown, len(all)})
}

func knowsCluster(r *naming.Revision, name string) bool {
	for _, known := range r.Clusters() {
		if known == name {
			return true
		}
	}
	return false
}

// catalogTimes is about how long health checks take, by cluster. That is a
// matter of the metrics here; the values are those Nacos has before its first
// check.
func (a *API) catalogTimes(c *call) (answer, error) {
	k, err := c.ServiceKey()
	if err != nil {
		return answer{}, err
	}
	revision, found := a.store.Lookup(k)
	if !found {
		return answer{}, wire.BadRequest("request service doesn't exist")
	}
	type times struct {
		Name       string `json:"name"`
		Best       int64  `json:"checkRTBest"`
		Worst      int64  `json:"checkRTWorst"`
		Normalized int64  `json:"checkRTNormalized"`
	}
	clusters := []times{}
	for _, name := range revision.Clusters() {
		clusters = append(clusters, times{name, math.MaxInt64, 0, -1})
	}
	return jsonOf(struct {
		Clusters []times `json:"clusters"`
	}{clusters})
}

// notNull is a map that is written as an object.
func notNull(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
