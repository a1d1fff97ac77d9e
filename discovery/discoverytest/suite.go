// Package discoverytest is the suite that every [discovery.Source] passes. It
// runs inside and outside of a testing/synctest bubble.
package discoverytest

import (
	"maps"
	"testing"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// Catalogue is what a source is to know: all instances by service.
type Catalogue map[registry.ServiceID][]registry.Instance

// Subject is a source under test and the hold of its test on what is behind it.
type Subject struct {
	// Source is new and has not been used. The suite closes it.
	Source discovery.Source
	// Set replaces the instances of a service in what the source reads from; nil
	// where that cannot change.
	Set func(registry.ServiceID, []registry.Instance)
	// Pushes says that the source learns of what Set does by itself, once it has
	// been asked for the service; it is a [discovery.Notifier] then.
	Pushes bool
	// Fail makes what is behind the source fail from now on; nil where nothing
	// can.
	Fail func()
}

// Harness says how to make subjects.
type Harness struct {
	// New returns a subject that knows exactly this catalogue, and has the test
	// clean up whatever it made. Services are in the default namespace and in
	// several groups. Instances are enabled, have weights above 0, and may be
	// unhealthy.
	New func(t *testing.T, content Catalogue) Subject
	// LeftOut are rules that what is behind the source does not keep, by name, and
	// why: they are skipped, with the reason. It is for servers that are not ours;
	// an implementation leaves nothing out.
	LeftOut map[string]string
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	t.Helper()
	leftOut := maps.Clone(h.LeftOut)
	for _, rule := range []struct {
		name string
		test func(*testing.T, Harness)
	}{
		{"Name", testName},
		{"FetchReturnsEverything", testFetch},
		{"FetchOfUnknownIsEmpty", testUnknown},
		{"FetchFillsInDefaults", testDefaults},
		{"AnswersBelongToTheReceiver", testOwnership},
		{"FetchHonoursContext", testContext},
		{"ServicesAreSortedAndOfOneGroup", testServices},
		{"ChangesAreSeen", testChange},
		{"FailureIsAnError", testFailure},
		{"ConcurrentUse", testConcurrentUse},
		{"CloseIsIdempotentAndBounded", testClose},
		{"NotifyTellsChanges", testNotify},
		{"NotifyEndsWithClose", testNotifyEnds},
	} {
		t.Run(rule.name, func(t *testing.T) {
			if why, ok := h.LeftOut[rule.name]; ok {
				t.Skip("left out: " + why)
			}
			rule.test(t, h)
		})
		delete(leftOut, rule.name)
	}
	for name := range leftOut {
		t.Errorf("there is no rule %q to leave out", name)
	}
}
