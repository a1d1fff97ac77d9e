package nacos

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
)

// listing translates a list of the registry, answered or pushed.
func listing(id registry.ServiceID, list wire.ServiceList) discovery.Listing {
	l := discovery.Listing{
		Service:   id,
		Instances: make([]registry.Instance, len(list.Hosts)),
		CacheFor:  millis(list.CacheMillis),
	}
	for n, h := range list.Hosts {
		l.Instances[n] = registry.Instance{
			ID:        h.InstanceID,
			Service:   id,
			IP:        strings.Trim(h.IP, "[]"),
			Port:      h.Port,
			Cluster:   cmp.Or(h.ClusterName, registry.DefaultCluster),
			Weight:    h.Weight,
			Healthy:   h.Healthy,
			Enabled:   h.Enabled,
			Ephemeral: h.Ephemeral,
			Metadata:  h.Metadata,
		}
	}
	return l
}

// millis is 0, which leaves the decision to the client, for what is no duration.
func millis(n int64) time.Duration {
	if n < 0 || n > math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}
