package api

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
)

// mergeMetadata sets keys in the metadata of several instances.
func (a *API) mergeMetadata(c *call) (answer, error) {
	return a.metadataBatch(c, func(k wire.ServiceKey, keys []naming.InstanceKey, metadata map[string]string) []naming.InstanceKey {
		return a.store.PatchMetadata(k, keys, metadata, nil)
	})
}

// removeMetadata removes keys from the metadata of several instances; the values
// that were sent do not count.
func (a *API) removeMetadata(c *call) (answer, error) {
	return a.metadataBatch(c, func(k wire.ServiceKey, keys []naming.InstanceKey, metadata map[string]string) []naming.InstanceKey {
		return a.store.PatchMetadata(k, keys, nil, slices.Collect(maps.Keys(metadata)))
	})
}

type metadataPatch func(wire.ServiceKey, []naming.InstanceKey, map[string]string) []naming.InstanceKey

// metadataBatch reads what both have in common. Whatever cannot be located is
// left out of the answer and no error (Nacos HTTP v1: metadata batch).
func (a *API) metadataBatch(c *call, patch metadataPatch) (answer, error) {
	if c.Get("serviceName", "dom") == "" {
		return answer{}, wire.BadRequest("Param 'serviceName' is required.")
	}
	text, err := c.Required("metadata")
	if err != nil {
		return answer{}, err
	}
	metadata, err := wire.ParseMetadata(text)
	if err != nil {
		return answer{}, err
	}
	updated := []string{}
	if k, err := c.ServiceKey(); err == nil {
		if keys, some := c.batchTargets(); some {
			for _, ik := range patch(k, keys, metadata) {
				updated = append(updated, ik.IP+":"+strconv.Itoa(ik.Port)+":unknown:"+ik.Cluster+":ephemeral")
			}
		}
	}
	return jsonOf(struct {
		Updated []string `json:"updated"`
	}{updated})
}

// batchTargets returns the instances a batch is about, nil for all; some is false
// when it is about none.
func (c *call) batchTargets() (keys []naming.InstanceKey, some bool) {
	if kind := c.Get("consistencyType"); kind != "" {
		return nil, kind == "ephemeral"
	}
	var named []struct {
		IP          string `json:"ip"`
		Port        int    `json:"port"`
		ClusterName string `json:"clusterName"`
		Ephemeral   *bool  `json:"ephemeral"`
	}
	if err := json.Unmarshal([]byte(c.Get("instances")), &named); err != nil {
		return nil, false
	}
	for _, n := range named {
		ip, ipErr := wire.ParseIP(n.IP)
		cluster, clusterErr := wire.ParseCluster(n.ClusterName)
		if ipErr != nil || clusterErr != nil || n.Ephemeral != nil && !*n.Ephemeral {
			continue
		}
		keys = append(keys, naming.InstanceKey{Cluster: cluster, IP: ip, Port: n.Port})
	}
	return keys, len(keys) > 0
}

// instanceStatuses is the short list of addresses with their health.
func (a *API) instanceStatuses(c *call) (answer, error) {
	key := c.Get("key")
	if key == "" {
		return answer{}, notPresent("key")
	}
	namespace, name, found := strings.Cut(key, "##")
	if !found {
		namespace, name = wire.PublicNamespace, key
	}
	parsed, err := wire.ParseServiceName(name, "")
	if err != nil {
		return answer{}, err
	}
	revision, found := a.store.Lookup(wire.ServiceKey{Namespace: namespace, ServiceName: parsed})
	if !found {
		return answer{}, &statusError{http.StatusNotFound, "service: " + parsed.String() + " not found."}
	}
	ips := make([]string, 0, revision.Len())
	for in := range revision.All() {
		ips = append(ips, in.IP+":"+strconv.Itoa(in.Port)+"_"+strconv.FormatBool(in.Healthy))
	}
	return jsonOf(struct {
		IPs []string `json:"ips"`
	}{ips})
}
