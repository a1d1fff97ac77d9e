package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/length"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// binary is the server that TestMain built.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "rollcall-soak-test-")
		if err == nil {
			defer os.RemoveAll(dir)
			binary, err = testserver.Build("../../..", dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// hold runs the server under a load and requires all that is promised. How many
// beats come through is the machine's affair in a shortened run, which others share.
func hold(t *testing.T, s settings) *report {
	t.Helper()
	s.binary = binary
	r, err := run(t.Context(), t.Output(), s)
	require.NoError(t, err)
	r.write(t.Output())
	require.GreaterOrEqual(t, len(r.samples), fewest)
	r.judge(func(holds bool, what, promised, _ string, _ ...any) {
		if what == "beats" {
			holds = length.Of(true, holds)
		}
		require.True(t, holds, "%s: %s", what, promised)
	})
	return r
}

// Subscribers that no push reaches ask again and again, and cost the others
// nothing.
func TestSB13_SubscribersThatCannotBeReachedCostNothing(t *testing.T) {
	t.Parallel()
	s := settings{rate: 100, services: 10, watchers: 2, duration: length.Of(20*time.Second, time.Minute)}
	without := hold(t, s)
	s.burden = burden{unreachable: 500, changes: 10}
	s.duration = length.Of(20*time.Second, 10*time.Minute)
	t.Logf("p99 of a beat: %v without them, %v with them", without.p99(), hold(t, s).p99())
}

// A beat costs the same in 400 services of 100 instances and in one of 40,000.
func TestSB20_ABeatCostsTheSameInOneServiceAsInMany(t *testing.T) {
	t.Parallel()
	rate := length.Of(400, 8000)
	many := hold(t, settings{rate: rate, services: rate / 20, watchers: 1, duration: length.Of(20*time.Second, 10*time.Minute)})
	one := hold(t, settings{rate: rate, services: 1, watchers: 1, duration: length.Of(20*time.Second, time.Minute)})
	t.Logf("processor time of a beat: %v in %d services, %v in one", many.perBeat(), rate/20, one.perBeat())
}

// What is refused again and again is not logged again and again.
func TestSB23_MalformedRegistrationsDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	r := hold(t, settings{
		rate: 20, services: 10, watchers: 1, burden: burden{malformed: length.Of(200, 1000)},
		duration: length.Of(20*time.Second, time.Minute),
	})
	require.Less(t, r.logged, int64(100<<10))
}
