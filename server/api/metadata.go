package api

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/state"
)

// mergeMetadata sets keys in the metadata of several instances.
func (a *API) mergeMetadata(c *call) (answer, error) {
	return a.metadataBatch(c, func(metadata map[string]string) (map[string]string, []string) { return metadata, nil })
}

// removeMetadata removes keys from the metadata of several instances; the values
// that were sent do not count.
func (a *API) removeMetadata(c *call) (answer, error) {
	return a.metadataBatch(c, func(metadata map[string]string) (map[string]string, []string) {
		return nil, slices.Sorted(maps.Keys(metadata))
	})
}

// metadataBatch reads what both have in common. Whatever cannot be located is
// left out of the answer and no error (Nacos HTTP v1: metadata batch).
func (a *API) metadataBatch(c *call, patch func(map[string]string) (set map[string]string, remove []string)) (answer, error) {
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
	set, remove := patch(metadata)
	updated := []string{}
	if k, err := c.ServiceKey(); err == nil {
		targets := c.batchTargets()
		if targets.ephemeral != nil || targets.allEphemeral {
			for _, ik := range a.store.PatchMetadata(k, targets.ephemeral, set, remove) {
				updated = append(updated, batchName(ik, "ephemeral"))
			}
		}
		if targets.persistent != nil || targets.allPersistent {
			result, err := a.propose(c, &state.PatchMetadata{
				Service: k, Instances: targets.persistent, All: targets.allPersistent, Set: set, Remove: remove,
			})
			if err != nil {
				return answer{}, err
			}
			for _, i := range result.Instances {
				updated = append(updated, batchName(naming.InstanceKey(i.InstanceKey), "persist"))
			}
		}
	}
	return jsonOf(struct {
		Updated []string `json:"updated"`
	}{updated})
}

func batchName(ik naming.InstanceKey, kind string) string {
	return address(ik) + ":unknown:" + ik.Cluster + ":" + kind
}

// address is ip:port; of IPv6 the address stands in brackets, so that both parts
// can be told apart (SB-02).
func address(ik naming.InstanceKey) string { return net.JoinHostPort(ik.IP, strconv.Itoa(ik.Port)) }

// batchTargets are the instances that a batch is about, by kind.
type batchTargets struct {
	ephemeral                   []naming.InstanceKey
	persistent                  []state.InstanceKey
	allEphemeral, allPersistent bool
}

func (c *call) batchTargets() (t batchTargets) {
	switch kind := c.Get("consistencyType"); kind {
	case "":
	case "ephemeral", "persist":
		t.allEphemeral, t.allPersistent = kind == "ephemeral", kind == "persist"
		return t
	default:
		return t
	}
	for _, n := range wire.ParseTargets(c.Get("instances")) {
		ik := naming.InstanceKey{Cluster: n.Cluster, IP: n.IP, Port: n.Port}
		if n.Ephemeral {
			t.ephemeral = append(t.ephemeral, ik)
		} else {
			t.persistent = append(t.persistent, state.InstanceKey(ik))
		}
	}
	return t
}

// instanceStatuses is the short list of addresses with their health.
func (a *API) instanceStatuses(c *call) (answer, error) {
	key := c.Get("key")
	if key == "" {
		return answer{}, notPresent("key")
	}
	namespace, name := "", key
	if i := strings.LastIndex(key, "##"); i >= 0 { // which a namespace may have, and a name may not
		namespace, name = key[:i], key[i+len("##"):]
	}
	if !strings.Contains(name, wire.GroupSeparator) { // no group is added here, and no service is without one
		return answer{}, notFoundf("service: %s not found.", wire.Excerpt(name))
	}
	namespace = cmp.Or(namespace, wire.PublicNamespace)
	parsed, err := wire.ParseServiceName(name, "")
	if err != nil {
		return answer{}, err
	}
	revision, found := a.store.Lookup(wire.ServiceKey{Namespace: namespace, ServiceName: parsed})
	if !found {
		return answer{}, notFoundf("service: %s not found.", parsed)
	}
	ips := make([]string, 0, revision.Len())
	for in := range revision.All() {
		ips = append(ips, address(in.InstanceKey)+"_"+strconv.FormatBool(in.Healthy))
	}
	return jsonOf(struct {
		IPs []string `json:"ips"`
	}{ips})
}
