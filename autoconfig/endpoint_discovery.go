package autoconfig

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// instanceView is an instance in the answers of the actuator, in the words of
// Nacos' lists; secrets in its metadata are masked.
type instanceView struct {
	ID        string            `json:"instanceId"`
	IP        string            `json:"ip"`
	Port      int               `json:"port"`
	Weight    float64           `json:"weight"`
	Healthy   bool              `json:"healthy"`
	Enabled   bool              `json:"enabled"`
	Ephemeral bool              `json:"ephemeral"`
	Cluster   string            `json:"clusterName"`
	Service   string            `json:"serviceName"`
	Metadata  map[string]string `json:"metadata"`
}

func viewInstance(i *registry.Instance) instanceView {
	return instanceView{
		ID: i.ID, IP: i.IP, Port: i.Port, Weight: i.Weight, Healthy: i.Healthy, Enabled: i.Enabled,
		Ephemeral: i.Ephemeral, Cluster: i.Cluster, Service: i.Service.Grouped(), Metadata: maskMetadata(i.Metadata),
	}
}

// maskMetadata is a copy that may be shown.
func maskMetadata(metadata map[string]string) map[string]string {
	shown := make(map[string]string, len(metadata))
	for key, value := range metadata {
		shown[key] = config.Masked(key, value)
	}
	return shown
}

func viewInstances(s *discovery.Snapshot) []instanceView {
	if s == nil {
		return []instanceView{}
	}
	views := make([]instanceView, len(s.Instances))
	for n := range s.Instances {
		views[n] = viewInstance(&s.Instances[n])
	}
	return views
}

// serviceView is a service that is looked up.
type serviceView struct {
	Namespace   string         `json:"namespace"`
	Group       string         `json:"group"`
	Name        string         `json:"name"`
	Origin      string         `json:"origin,omitempty"`
	Revision    uint64         `json:"revision"`
	Instances   []instanceView `json:"instances"`
	FetchedAt   *time.Time     `json:"fetchedAt,omitempty"`
	ChangedAt   *time.Time     `json:"changedAt,omitempty"`
	StaleSince  *time.Time     `json:"staleSince,omitempty"`
	NextFetch   *time.Time     `json:"nextFetch,omitempty"`
	Protected   bool           `json:"protected"`
	Subscribers int            `json:"subscribers"`
	Failures    int            `json:"failures"`
	Error       string         `json:"error,omitempty"`
}

// discovery shows every service that is looked up: its list, where that is from
// and how old it is, and why it is not newer; and who this process is itself.
func (a *actuator) discovery(c *gin.Context) {
	d := a.inside.discovery
	if d == nil {
		say(c, http.StatusNotFound, "this application looks nothing up")
		return
	}
	state := d.State()
	services := make([]serviceView, len(state.Services))
	for i := range state.Services {
		services[i] = viewService(&state.Services[i])
	}
	local := a.inside.local()
	local.Metadata = maskMetadata(local.Metadata)
	reply(c, http.StatusOK, gin.H{"failover": state.Failover, "services": services, "local": local})
}

func viewService(s *discovery.ServiceState) serviceView {
	v := serviceView{
		Namespace: s.Service.Namespace, Group: s.Service.Group, Name: s.Service.Name,
		Instances: viewInstances(s.Snapshot), Subscribers: s.Subscribers, Failures: s.Failures,
		NextFetch: known(s.NextFetch), Error: text(s.LastError),
	}
	if list := s.Snapshot; list != nil {
		v.Origin, v.Revision, v.Protected = list.Origin, list.Revision, list.Protected()
		v.FetchedAt, v.ChangedAt, v.StaleSince = known(list.FetchedAt), known(list.ChangedAt), known(list.StaleSince)
		if v.Error == "" {
			v.Error = text(list.Err)
		}
	}
	return v
}

// known is nil for a moment that has not been.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// loadBalancer shows every service that was called as the balancer sees it at the
// moment: its stages and algorithm, what each instance weighs, who is ejected.
func (a *actuator) loadBalancer(c *gin.Context) {
	l := a.inside.balancer
	if l == nil {
		say(c, http.StatusNotFound, "this application calls nobody by name")
		return
	}
	services := l.States()
	if services == nil {
		services = []loadbalance.ServiceState{}
	}
	reply(c, http.StatusOK, gin.H{"services": services})
}

// subscriptionView is a service in the endpoint nacosdiscovery, by the members
// that Spring's has.
type subscriptionView struct {
	Name        string         `json:"name"`
	Group       string         `json:"groupName"`
	Clusters    string         `json:"clusters"`
	CacheMillis int64          `json:"cacheMillis"`
	Hosts       []instanceView `json:"hosts"`
	LastRefTime int64          `json:"lastRefTime"`
	Checksum    string         `json:"checksum"`
	AllIPs      bool           `json:"allIPs"`
	Valid       bool           `json:"valid"`
}

// registrationView is the application's own instance.
type registrationView struct {
	State     registry.State `json:"state"`
	Instance  instanceView   `json:"instance"`
	LastBeat  *time.Time     `json:"lastBeat"`
	LastError string         `json:"lastError,omitempty"`
}

// nacosDiscovery shows the properties with their secrets masked, what is looked
// up, the registration and the nodes of the registry (B-R6).
func (a *actuator) nacosDiscovery(c *gin.Context) {
	nacos := a.inside.nacos
	if nacos == nil {
		say(c, http.StatusNotFound, "this application uses no Nacos registry")
		return
	}
	properties := map[string]any{}
	for _, p := range a.reloader.properties() {
		if key, ok := strings.CutPrefix(p.Key, "cloud.nacos.discovery."); ok {
			properties[key] = p.Shown()
		}
	}
	shown := gin.H{
		"NacosDiscoveryProperties": properties,
		"subscribe":                a.subscriptions(),
		"servers":                  nacos.client.Servers(),
	}
	if r := a.inside.registration; r != nil {
		shown["registration"] = a.registration(nacos, r)
	}
	reply(c, http.StatusOK, shown)
}

func (a *actuator) subscriptions() []subscriptionView {
	views := []subscriptionView{}
	if a.inside.discovery == nil {
		return views
	}
	for _, s := range a.inside.discovery.State().Services {
		v := subscriptionView{
			Name: s.Service.Name, Group: s.Service.Group, CacheMillis: s.CacheFor.Milliseconds(), Hosts: viewInstances(s.Snapshot),
		}
		if list := s.Snapshot; list != nil {
			v.LastRefTime, v.Checksum = list.FetchedAt.UnixMilli(), fmt.Sprint(list.Revision)
			for n := range list.Instances {
				v.Valid = v.Valid || list.Instances[n].Healthy && list.Instances[n].Weight > 0
			}
		}
		views = append(views, v)
	}
	return views
}

func (a *actuator) registration(nacos *nacosParts, r *registry.AutoServiceRegistration) registrationView {
	mine := r.Registration()
	v := registrationView{State: r.State(), Instance: viewInstance(&mine.Instance), LastError: text(r.LastError())}
	for _, beat := range nacos.registry.Beats() {
		if beat.Key == mine.Key() {
			v.LastBeat = known(beat.LastBeat)
			if v.LastError == "" {
				v.LastError = text(beat.LastError)
			}
		}
	}
	return v
}
