package naming

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// shortLived is a registration with times of 1, 3 and 6 seconds.
func shortLived(port int) Registration {
	return withMetadata(registration("192.0.2.1", port), wire.MetadataBeatInterval, "1000",
		wire.MetadataBeatTimeout, "3000", wire.MetadataDeleteTimeout, "6000")
}

// silence reports after how long an instance that nobody beats became unhealthy
// and was removed, to 100 ms; zero for what did not happen within the limit.
func silence(s *Store, k wire.ServiceKey, key InstanceKey, limit time.Duration) (unhealthy, gone time.Duration) {
	start := time.Now()
	for time.Since(start) < limit {
		r, ok := s.Lookup(k)
		if !ok {
			return unhealthy, time.Since(start)
		}
		i, ok := r.Get(key)
		if !ok {
			return unhealthy, time.Since(start)
		}
		if !i.Healthy && unhealthy == 0 {
			unhealthy = time.Since(start)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return unhealthy, 0
}

func requireBetween(t *testing.T, got, least, most time.Duration, what string) {
	t.Helper()
	require.GreaterOrEqual(t, got, least, what)
	require.LessOrEqual(t, got, most, what)
}

func TestSB07_EachInstanceByItsOwnTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("own")
		require.NoError(t, s.Register(k, shortLived(1)))
		require.NoError(t, s.Register(k, registration("192.0.2.1", 2)))
		unhealthy, gone := silence(s, k, at("192.0.2.1", 1), time.Minute)
		requireBetween(t, unhealthy, 3*time.Second, 4500*time.Millisecond, "unhealthy")
		requireBetween(t, gone, 6*time.Second, 8*time.Second, "gone")

		passed := gone
		unhealthy, gone = silence(s, k, at("192.0.2.1", 2), time.Minute)
		requireBetween(t, passed+unhealthy, 15*time.Second, 16*time.Second, "unhealthy by default")
		requireBetween(t, passed+gone, 30*time.Second, 31*time.Second, "gone by default")
		require.Equal(t, Stats{Services: 1}, s.Stats())
	})
}

func TestSB07_SecondsTakenForMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newStore(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		k := serviceKey("units")
		r := withMetadata(registration("192.0.2.1", 1), wire.MetadataBeatInterval, "30",
			wire.MetadataBeatTimeout, "120", wire.MetadataDeleteTimeout, "180")
		require.NoError(t, s.Register(k, r))
		for range 8 {
			time.Sleep(5 * time.Second)
			result, err := s.Beat(k, r.InstanceKey, nil)
			require.NoError(t, err)
			require.Equal(t, BeatResult{Known: true, Interval: 5 * time.Second}, result)
			require.True(t, instance(t, s, k, r.InstanceKey).Healthy)
		}
		require.NoError(t, s.Register(k, r))
		require.Equal(t, 1, strings.Count(log.String(), "\n"), "one warning: %s", log.String())
		require.Contains(t, log.String(), "their defaults count")
		require.NotContains(t, log.String(), "order")
		require.Contains(t, log.String(), "interval=5s timeout=15s delete=30s")
		i := instance(t, s, k, r.InstanceKey)
		require.Equal(t, wire.Intervals{Beat: 5 * time.Second, Timeout: 15 * time.Second, Delete: 30 * time.Second}, i.Intervals)
	})
}

func TestSB07_AnOddOrderIsHonouredAndWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newStore(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		k := serviceKey("odd")
		r := withMetadata(registration("192.0.2.1", 1), wire.MetadataDeleteTimeout, "2000")
		require.NoError(t, s.Register(k, r))
		require.Equal(t, 1, strings.Count(log.String(), "\n"))
		require.Contains(t, log.String(), "the order of an instance's times is odd")
		require.NotContains(t, log.String(), "defaults count")
		require.Contains(t, log.String(), "interval=5s timeout=15s delete=2s")
		unhealthy, gone := silence(s, k, r.InstanceKey, time.Minute)
		require.Zero(t, unhealthy, "it is gone before it could be unhealthy")
		requireBetween(t, gone, 2*time.Second, 3*time.Second, "gone")
	})
}

func TestSB07_ChangedTimesCountFromThenOn(t *testing.T) {
	for name, change := range map[string]func(*Store, wire.ServiceKey, Registration) error{
		"put":  func(s *Store, k wire.ServiceKey, r Registration) error { return s.Update(k, r, allGiven, true) },
		"post": (*Store).Register,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, Options{})
				k := serviceKey("changed")
				require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
				time.Sleep(10 * time.Second)
				require.NoError(t, change(s, k, shortLived(1)))
				unhealthy, gone := silence(s, k, at("192.0.2.1", 1), time.Minute)
				requireBetween(t, unhealthy, 3*time.Second, 4500*time.Millisecond, "shorter")
				requireBetween(t, gone, 6*time.Second, 8*time.Second, "shorter")

				require.NoError(t, s.Register(k, shortLived(1)))
				time.Sleep(2 * time.Second)
				require.NoError(t, change(s, k, registration("192.0.2.1", 1)))
				unhealthy, _ = silence(s, k, at("192.0.2.1", 1), time.Minute)
				requireBetween(t, unhealthy, 15*time.Second, 16*time.Second, "longer")
			})
		})
	}
}

func TestExpiry_ARecoveredInstanceIsWatchedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("recovered")
		r := withMetadata(registration("192.0.2.1", 1), wire.MetadataBeatTimeout, "3000", wire.MetadataDeleteTimeout, "86400000")
		require.NoError(t, s.Register(k, r))
		unhealthy, _ := silence(s, k, r.InstanceKey, 5*time.Second)
		require.NotZero(t, unhealthy)
		_, err := s.Beat(k, r.InstanceKey, nil)
		require.NoError(t, err)
		require.True(t, instance(t, s, k, r.InstanceKey).Healthy)
		unhealthy, _ = silence(s, k, r.InstanceKey, 5*time.Second)
		requireBetween(t, unhealthy, 3*time.Second, 4500*time.Millisecond, "not only when its removal was due")
	})
}

func TestExpiry_PublishesAndNotifies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		var mu sync.Mutex
		changes := 0
		s.OnChange(func(wire.ServiceKey) { mu.Lock(); defer mu.Unlock(); changes++ })
		k := serviceKey("notified")
		for port := range 5 {
			require.NoError(t, s.Register(k, shortLived(port)))
		}
		time.Sleep(10 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, 5+1+2, changes, "one batch becomes unhealthy, two go")
	})
}

func TestSwitchCheck_OffStopsMarkingAndRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		switches := NewSwitches()
		s := newStore(t, Options{Switches: switches})
		k := serviceKey("unchecked")
		require.NoError(t, s.Register(k, shortLived(1)))
		require.NoError(t, switches.Apply("check", "false"))
		time.Sleep(time.Hour)
		require.True(t, instance(t, s, k, at("192.0.2.1", 1)).Healthy)

		require.NoError(t, switches.Apply("check", "true"))
		unhealthy, gone := silence(s, k, at("192.0.2.1", 1), time.Minute)
		requireBetween(t, unhealthy, 3*time.Second, 4500*time.Millisecond, "with one timeout of grace")
		requireBetween(t, gone, 6*time.Second, 8*time.Second, "gone")
	})
}

func TestKeepExpired_StopsRemovalOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{KeepExpired: true})
		k := serviceKey("kept")
		require.NoError(t, s.Register(k, shortLived(1)))
		time.Sleep(time.Hour)
		require.False(t, instance(t, s, k, at("192.0.2.1", 1)).Healthy)
		_, err := s.Beat(k, at("192.0.2.1", 1), nil)
		require.NoError(t, err)
		require.True(t, instance(t, s, k, at("192.0.2.1", 1)).Healthy)
		unhealthy, _ := silence(s, k, at("192.0.2.1", 1), time.Minute)
		requireBetween(t, unhealthy, 3*time.Second, 4500*time.Millisecond, "marked again")
	})
}

func TestSB08_AStallIsNotTakenForSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		keys, beatAll := fleet(t, s)
		time.Sleep(4900 * time.Millisecond)
		require.NoError(t, s.Close()) // from here on the test is the clock
		s.advance(2*time.Minute, time.Now())

		requireAll := func(when string) {
			for _, k := range keys {
				r := lookup(t, s, k)
				require.Equal(t, 5, r.Len(), when)
				require.Equal(t, 5, r.HealthyCount(), when)
			}
		}
		requireAll("just after the stall")
		for range 149 {
			s.advance(leaseTick, time.Now())
		}
		requireAll("before one full timeout of grace has passed")
		beatAll()
		for range 149 {
			s.advance(leaseTick, time.Now())
		}
		requireAll("after beats resumed")

		// The control: the beaters are gone for good.
		for range (30*time.Second+10*time.Second)/leaseTick - 149 {
			s.advance(leaseTick, time.Now())
		}
		for _, k := range keys {
			require.Zero(t, lookup(t, s, k).Len())
		}
		require.Equal(t, 20, s.Stats().Services)
	})
}

func TestExpiry_ConcurrentWithEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("churn")
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for round := range 100 {
					r := shortLived(worker*100 + round)
					if err := s.Register(k, r); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Duration(round%7) * 130 * time.Millisecond)
					for port := range round {
						if port%3 == 0 {
							_, _ = s.Beat(k, at("192.0.2.1", worker*100+port), nil)
						}
					}
				}
			})
		}
		wg.Wait()
		for range 60 {
			time.Sleep(time.Second)
			s.Lookup(k)
		}
		require.Zero(t, lookup(t, s, k).Len())
		require.Equal(t, Stats{Services: 1, Beats: s.Stats().Beats}, s.Stats())
	})
}
