package naming

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

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
