package adminclient

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// ServiceLine is a service in a list.
type ServiceLine struct {
	Name      string `json:"name"`
	Group     string `json:"groupName"`
	Clusters  int    `json:"clusterCount"`
	Instances int    `json:"ipCount"`
	Healthy   int    `json:"healthyInstanceCount"`
	// Protected says whether so few are healthy that all are handed out; it is
	// text in the protocol.
	Protected string `json:"triggerFlag"`
}

// Services returns the services of a namespace, sorted by group and name.
func (c *Client) Services(ctx context.Context, namespace string) ([]ServiceLine, error) {
	var all []ServiceLine
	err := pages(func(page url.Values) (int, int, error) {
		var reply struct {
			ServiceList []ServiceLine `json:"serviceList"`
			Count       int           `json:"count"`
		}
		q := merged(page, url.Values{"namespaceId": {namespace}, "hasIpCount": {"false"}})
		err := c.get(ctx, "/v1/ns/catalog/services", q, &reply)
		all = append(all, reply.ServiceList...)
		return len(reply.ServiceList), reply.Count, err
	})
	slices.SortFunc(all, func(a, b ServiceLine) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name)) })
	return slices.CompactFunc(all, func(a, b ServiceLine) bool { return a.Name == b.Name && a.Group == b.Group }), err
}

// Service is what is set about a service.
type Service struct {
	ProtectThreshold float64           `json:"protectThreshold"`
	Metadata         map[string]string `json:"metadata"`
	Selector         json.RawMessage   `json:"selector"`
	Clusters         []Cluster         `json:"-"`
}

// Cluster is what is set about a cluster.
type Cluster struct {
	Name            string            `json:"name"`
	HealthChecker   json.RawMessage   `json:"healthChecker"`
	CheckPort       int               `json:"defaultCheckPort"`
	UseInstancePort bool              `json:"useIPPort4Check"`
	Metadata        map[string]string `json:"metadata"`
}

// Service returns what is set about a service and its clusters; [ErrNotFound]
// when there is none.
func (c *Client) Service(ctx context.Context, k wire.ServiceKey) (Service, error) {
	var reply struct {
		Service  Service   `json:"service"`
		Clusters []Cluster `json:"clusters"`
	}
	if err := c.get(ctx, "/v1/ns/catalog/service", serviceQuery(k), &reply); err != nil {
		return Service{}, err
	}
	reply.Service.Clusters = reply.Clusters
	return reply.Service, nil
}

// Instance is everything about an instance, its real health included.
type Instance struct {
	IP        string            `json:"ip"`
	Port      int               `json:"port"`
	Cluster   string            `json:"clusterName"`
	Weight    float64           `json:"weight"`
	Healthy   bool              `json:"healthy"`
	Enabled   bool              `json:"enabled"`
	Ephemeral bool              `json:"ephemeral"`
	Metadata  map[string]string `json:"metadata"`
	App       string            `json:"app"`
	// LastBeat is in milliseconds since 1970.
	LastBeat int64 `json:"lastBeat"`
}

// Instances returns the instances of a cluster.
func (c *Client) Instances(ctx context.Context, k wire.ServiceKey, cluster string) ([]Instance, error) {
	var all []Instance
	err := pages(func(page url.Values) (int, int, error) {
		var reply struct {
			List  []Instance `json:"list"`
			Count int        `json:"count"`
		}
		q := merged(page, serviceQuery(k), url.Values{"clusterName": {cluster}})
		err := c.get(ctx, "/v1/ns/catalog/instances", q, &reply)
		all = append(all, reply.List...)
		return len(reply.List), reply.Count, err
	})
	return all, err
}

// AllInstances returns the instances of all clusters of a service.
func (c *Client) AllInstances(ctx context.Context, k wire.ServiceKey) ([]Instance, error) {
	s, err := c.Service(ctx, k)
	if err != nil {
		return nil, err
	}
	var all []Instance
	for _, cluster := range s.Clusters {
		some, err := c.Instances(ctx, k, cluster.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b Instance) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.IP, b.IP), cmp.Compare(a.Port, b.Port))
	})
	return all, nil
}

// PutService creates a service, or replaces what is set about one.
func (c *Client) PutService(ctx context.Context, k wire.ServiceKey, s Service, exists bool) error {
	method := http.MethodPost
	if exists {
		method = http.MethodPut
	}
	q := merged(serviceQuery(k), url.Values{
		"protectThreshold": {strconv.FormatFloat(s.ProtectThreshold, 'f', -1, 64)},
		"metadata":         {wire.EncodeMetadata(s.Metadata)},
	})
	if len(s.Selector) > 0 {
		// Encoded once more than other parameters, as clients do.
		q.Set("selector", url.QueryEscape(string(s.Selector)))
	}
	return c.write(ctx, method, "/v1/ns/service", q, "ok")
}

// PutCluster replaces what is set about a cluster.
func (c *Client) PutCluster(ctx context.Context, k wire.ServiceKey, s Cluster) error {
	q := merged(serviceQuery(k), url.Values{
		"clusterName":           {s.Name},
		"healthChecker":         {string(s.HealthChecker)},
		"checkPort":             {strconv.Itoa(s.CheckPort)},
		"useInstancePort4Check": {strconv.FormatBool(s.UseInstancePort)},
		"metadata":              {wire.EncodeMetadata(s.Metadata)},
	})
	return c.write(ctx, http.MethodPut, "/v1/ns/cluster", q, "ok")
}

// PutInstance registers an instance that stays, or replaces what is known of it.
func (c *Client) PutInstance(ctx context.Context, k wire.ServiceKey, i Instance) error {
	q := merged(instanceQuery(k, i), url.Values{
		"weight":   {strconv.FormatFloat(i.Weight, 'f', -1, 64)},
		"enabled":  {strconv.FormatBool(i.Enabled)},
		"enable":   {strconv.FormatBool(i.Enabled)},
		"healthy":  {strconv.FormatBool(i.Healthy)},
		"metadata": {wire.EncodeMetadata(i.Metadata)},
		"app":      {i.App},
	})
	return c.write(ctx, http.MethodPost, "/v1/ns/instance", q, "ok")
}

// RemoveInstance takes an instance out.
func (c *Client) RemoveInstance(ctx context.Context, k wire.ServiceKey, i Instance) error {
	return c.write(ctx, http.MethodDelete, "/v1/ns/instance", instanceQuery(k, i), "ok")
}

func instanceQuery(k wire.ServiceKey, i Instance) url.Values {
	q := serviceQuery(k)
	q.Set("clusterName", i.Cluster)
	q.Set("ip", i.IP)
	q.Set("port", strconv.Itoa(i.Port))
	q.Set("ephemeral", strconv.FormatBool(i.Ephemeral))
	return q
}
