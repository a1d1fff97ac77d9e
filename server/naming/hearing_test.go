package naming

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// fleet is 20 services with 5 instances each, one beat of each every 5 s. It begins
// between two ticks of the lease clock: one in the middle of the beats would have
// some of a service fall silent before the others.
func fleet(t *testing.T, s *Store) (keys []wire.ServiceKey, beatAll func()) {
	for n := range 20 {
		k := serviceKey(fmt.Sprintf("fleet-%02d", n))
		keys = append(keys, k)
		for port := range 5 {
			require.NoError(t, s.Register(k, registration("192.0.2.1", port)))
		}
	}
	time.Sleep(leaseTick / 2)
	return keys, func() {
		for _, k := range keys {
			for port := range 5 {
				result, err := s.Beat(k, at("192.0.2.1", port), nil)
				if err != nil || !result.Known {
					t.Fatalf("beat %s: %v %v", k, result, err)
				}
			}
		}
	}
}

func TestSB08_ANodeThatHearsNobodyIsDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		keys, beatAll := fleet(t, s)
		for range 24 {
			time.Sleep(5 * time.Second)
			beatAll()
		}
		time.Sleep(2 * time.Minute) // all traffic is blocked
		for _, k := range keys {
			r := lookup(t, s, k)
			require.Equal(t, 5, r.HealthyCount(), "the first caller after it sees everybody")
		}
		beatAll()

		// The control: others still call, only the beaters are gone for good.
		unhealthy, gone := silence(s, keys[0], at("192.0.2.1", 1), time.Minute)
		requireBetween(t, unhealthy, 15*time.Second, 16*time.Second, "unhealthy")
		requireBetween(t, gone, 30*time.Second, 31*time.Second, "gone")
	})
}

func TestSB08_DeafnessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		_, beatAll := fleet(t, s)
		for range 24 {
			time.Sleep(5 * time.Second)
			beatAll()
		}
		time.Sleep(deafMost + time.Minute)
		require.Zero(t, s.Stats().Instances)
	})
}

// TestSB20_BeatsThatAreTurnedAwayAreNoSilence: a server that cannot read all beats
// knows that somebody is alive, not who, so that it takes nobody for dead.
func TestSB20_BeatsThatAreTurnedAwayAreNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("busy")
		require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
		flips := s.metrics.flips
		for range 24 { // two minutes
			time.Sleep(5 * time.Second)
			s.BeatTurnedAway()
		}
		r, ok := s.Lookup(k)
		require.True(t, ok)
		i, ok := r.Get(at("192.0.2.1", 1))
		require.True(t, ok)
		require.True(t, i.Healthy)
		require.Zero(t, testutil.ToFloat64(flips))

		// Then one timeout in full, and no more.
		unhealthy, gone := silence(s, k, at("192.0.2.1", 1), time.Minute)
		requireBetween(t, unhealthy, 15*time.Second, 16500*time.Millisecond, "unhealthy")
		requireBetween(t, gone, 30*time.Second, 33*time.Second, "gone")
	})
}

// beatFor has a fleet beat every 5 s for a while.
func beatFor(beatAll func(), d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
		time.Sleep(5 * time.Second)
		beatAll()
	}
}

func TestSB08_RareCallersDoNotKeepADeadFleet(t *testing.T) {
	for name, every := range map[string]time.Duration{"each second": time.Second, "each 5 s": 5 * time.Second, "each 10 s": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, Options{})
				keys, beatAll := fleet(t, s)
				beatFor(beatAll, 2*time.Minute)
				for range int((15+30+10)*time.Second/every) + 1 { // grace, delete timeout and the removal by halves
					time.Sleep(every)
					lookup(t, s, keys[0])
				}
				require.Zero(t, s.Stats().Instances)
			})
		})
	}
}

func TestSB08_ASurvivorDoesNotKeepTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		keys, beatAll := fleet(t, s)
		beatFor(beatAll, 2*time.Minute)
		for range (15 + 30 + 10) / 5 {
			time.Sleep(5 * time.Second)
			_, err := s.Beat(keys[0], at("192.0.2.1", 1), nil)
			require.NoError(t, err)
		}
		require.Equal(t, 1, s.Stats().Instances)
	})
}

func TestSB08_TrafficThatIsBlockedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		keys, beatAll := fleet(t, s)
		beatFor(beatAll, 2*time.Minute)
		for range 5 {
			time.Sleep(2 * time.Minute)
			lookup(t, s, keys[0]) // somebody asks before the first beat arrives
			time.Sleep(time.Second)
			require.Equal(t, Stats{Services: 20, Instances: 100, Healthy: 100, Beats: s.Stats().Beats}, s.Stats())
			beatFor(beatAll, 10*time.Second)
		}
	})
}
