package rnacos

import (
	"testing"

	"github.com/rollcall-go/rollcall/discovery/discoverytest"
	discoverynacos "github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/nacos"
	"github.com/rollcall-go/rollcall/registry/registrytest"
)

// registryLeftOut are the rules of registrytest that r-nacos does not keep.
var registryLeftOut = map[string]string{
	"Deregister removes one cluster only (client case 24)": "r-nacos tells instances apart by address and port alone; " +
		"the same ones in another cluster replace them",
	"Register again takes weight and metadata back": unsaid,
	"Update takes weight and metadata back":         unsaid,
}

// unsaid is why what is taken back stays.
const unsaid = "r-nacos leaves the weight as it was where it is told 1, and the metadata where it is told none"

// sourceLeftOut are the rules of discoverytest that r-nacos does not keep.
var sourceLeftOut = map[string]string{
	"NotifyTellsChanges":  "r-nacos pushes nothing to clients of HTTP v1; they learn of changes by asking",
	"NotifyEndsWithClose": "r-nacos pushes nothing to clients of HTTP v1; there is nothing to end",
}

// differences is what else a user should know, and no rule of a suite is about.
var differences = []string{
	"An instance's own times (`preserved.heart.beat.interval`, `preserved.heart.beat.timeout`, " +
		"`preserved.ip.delete.timeout`) are ignored: every beat is answered with 5 s, and the timeouts are the server's.",
	"A beat of an instance it does not know is never answered with 20404. It makes a new one of the beat: enabled, even " +
		"where the app had set its status to DOWN, with weight 1, and with the metadata of its disk or else of the beat, " +
		"where the beat is not a light one. So after a restart of r-nacos an app should register again if it has set a " +
		"weight or is DOWN, and `watch` takes what was lost for a change that an operator made.",
	"At its first start, with an empty data folder, it may panic because it writes to its log before that is set up. It " +
		"serves instances all the same, but answers each login with 403 and \"Mailbox has closed\" until it is started again.",
}

func TestRegistry_Suite(t *testing.T) {
	t.Parallel()
	p := startPeer(t)
	for suite, place := range map[string]registry.ServiceID{
		"registrytest": {},
		"registrytest in a namespace and a group": {Namespace: "shop", Group: "ORDERS"},
	} {
		t.Run(suite, func(t *testing.T) {
			leavesOut(suite, registryLeftOut)
			var source *discoverynacos.Source
			registrytest.Run(t, registrytest.Harness{
				New: func(t *testing.T) registry.ServiceRegistry {
					provesRule(t, suite)
					source = p.newSource(t, discoverynacos.Options{})
					return p.newRegistry(t, nacos.Options{})
				},
				List:      func(t *testing.T, id registry.ServiceID) []registry.Instance { return listed(t, source, id) },
				Namespace: place.Namespace,
				Group:     place.Group,
				LeftOut:   registryLeftOut,
			})
		})
	}
}

func TestSource_Suite(t *testing.T) {
	t.Parallel()
	needPeer(t)
	const suite = "discoverytest"
	leavesOut(suite, sourceLeftOut)
	discoverytest.Run(t, discoverytest.Harness{
		New: func(t *testing.T, content discoverytest.Catalogue) discoverytest.Subject {
			provesRule(t, suite)
			p := startPeer(t, catalogueTimeouts...)
			c := newCatalogue(t, p)
			for id, instances := range content {
				c.set(t, id, instances)
			}
			return discoverytest.Subject{
				Source: p.newSource(t, discoverynacos.Options{}),
				Set:    func(id registry.ServiceID, instances []registry.Instance) { c.set(t, id, instances) },
				Fail:   p.kill,
			}
		},
		LeftOut: sourceLeftOut,
	})
}
