// Package registrytest is the contract of [registry.ServiceRegistry] as tests:
// every implementation passes [Run].
package registrytest

import (
	"maps"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// Harness connects the suite with an implementation.
type Harness struct {
	// New returns a registry for one test. The suite closes it; the harness
	// releases whatever else it needs with t.Cleanup. It is called once per test,
	// and the tests run one after the other.
	New func(t *testing.T) registry.ServiceRegistry
	// List returns what the registry of the last New tells consumers about a
	// service, asked anew each time, not from a cache. Instances that get no
	// traffic may be missing or marked as disabled.
	List func(t *testing.T, id registry.ServiceID) []registry.Instance
	// Within is how long a change may take to show in List. The suite looks
	// again and again until then. 0 means at once.
	Within time.Duration
	// Namespace and Group are where the suite registers; "" is the default one.
	Namespace, Group string
	// LeftOut are rules that what is behind the registry does not keep, by name,
	// and why: they are skipped, with the reason. It is for servers that are not
	// ours; an implementation leaves nothing out.
	LeftOut map[string]string
}

// Run runs the suite, each rule as a subtest. It registers services with names
// of their own, so that it can run against a registry in use.
func Run(t *testing.T, h Harness) {
	tests := []struct {
		name string
		run  func(*fixture)
	}{
		{"Register makes the instance visible", registerVisible},
		{"Register carries every field", registerFields},
		{"Register carries IPv6", registerIPv6},
		{"Register carries metadata unchanged", registerMetadata},
		{"Register again replaces", registerReplaces},
		{"Register again takes weight and metadata back", registerResets},
		{"Register does not keep the caller's map", registerCopies},
		{"Deregister removes", deregisterRemoves},
		{"Deregister of an unknown registration is no error", deregisterUnknown},
		{"Deregister removes one cluster only (client case 24)", clustersAreDistinct},
		{"Services of one name in two groups are distinct", groupsAreDistinct},
		{"Services of one name in two namespaces are distinct", namespacesAreDistinct},
		{"SetStatus switches traffic", statusSwitches},
		{"SetStatus refuses unknown words", statusUnknownWord},
		{"Status of an unknown registration is ErrNotFound", statusNotFound},
		{"A registration may start disabled", startsDisabled},
		{"Update changes weight, metadata and the enabled flag in place", updateInPlace},
		{"Update takes weight and metadata back", updateResets},
		{"Update of an unknown registration is ErrNotFound", updateNotFound},
		{"A done context is honoured", doneContext},
		{"Close does not deregister", closeKeeps},
		{"Close is idempotent and final", closeFinal},
		{"Concurrent registrations are all kept", concurrentKeys},
		{"Concurrent registrations of one instance are one (client case 9)", concurrentSameKey},
		{"Concurrent use of everything is safe", concurrentMix},
	}
	leftOut := maps.Clone(h.LeftOut)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if why, ok := h.LeftOut[test.name]; ok {
				t.Skip("left out: " + why)
			}
			test.run(newFixture(t, h))
		})
		delete(leftOut, test.name)
	}
	for name := range leftOut {
		t.Errorf("there is no rule %q to leave out", name)
	}
}
