package naming

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLease_CountsOnlyTimeInWhichItRan(t *testing.T) {
	l := newLease(time.UnixMilli(1000))
	frozen, _ := l.tick(100*time.Millisecond, time.UnixMilli(1100), 0, false)
	require.Zero(t, frozen)
	require.Equal(t, 100*time.Millisecond, l.now())
	frozen, _ = l.tick(300*time.Millisecond, time.UnixMilli(1400), 0, false)
	require.Equal(t, 100*time.Millisecond, frozen)
	require.Equal(t, 300*time.Millisecond, l.now(), "a late tick counts 200 ms")
	require.Zero(t, l.pardon.Load(), "and is no stall")
	l.tick(time.Hour, time.UnixMilli(5000), 0, false)
	require.Equal(t, 500*time.Millisecond, l.now())
	require.Equal(t, l.clock.Load(), l.pardon.Load())
	l.tick(-time.Hour, time.UnixMilli(0), 0, false)
	require.Equal(t, 500*time.Millisecond, l.now(), "never backwards")
}

func TestLease_SaysWhyTimeDoesNotCount(t *testing.T) {
	for name, c := range map[string]struct {
		gap                   time.Duration
		suspended, deaf, shed bool
		frozen                time.Duration
		why                   freeze
	}{
		"late":                      {gap: 300 * time.Millisecond, frozen: 100 * time.Millisecond, why: frozenLate},
		"stall":                     {gap: 3 * time.Second, frozen: 2800 * time.Millisecond, why: frozenStall},
		"deaf":                      {gap: leaseTick, deaf: true, frozen: leaseTick, why: frozenDeaf},
		"switch":                    {gap: leaseTick, suspended: true, frozen: leaseTick, why: frozenSwitch},
		"beats turned away":         {gap: leaseTick, shed: true, deaf: true, frozen: leaseTick, why: frozenShed},
		"a stall comes first":       {gap: 3 * time.Second, suspended: true, deaf: true, frozen: 2800 * time.Millisecond, why: frozenStall},
		"the switch, then deafness": {gap: leaseTick, suspended: true, deaf: true, frozen: leaseTick, why: frozenSwitch},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLease(time.Now())
			if c.deaf {
				l.hearing.rate = 2 * deafRate
				l.clock.Store(int64(2 * deafAfter))
			}
			if c.shed {
				l.turnedAway()
			}
			frozen, why := l.tick(c.gap, time.Now(), 0, c.suspended)
			require.Equal(t, c.frozen, frozen)
			require.Equal(t, c.why, why)
			require.False(t, l.shed.Load(), "what was turned away counts for one tick")
		})
	}
}

func TestLease_RaiseTakesTheLater(t *testing.T) {
	l := newLease(time.UnixMilli(10_000))
	live := new(liveness)
	require.True(t, l.raise(live, 5*time.Second, time.Second))
	require.False(t, l.raise(live, 4*time.Second, 2*time.Second))
	require.Equal(t, int64(5*time.Second), live.seen.Load())
	require.Equal(t, int64(9_000), live.wall.Load())
}

func TestLease_AFewSlowClientsAreNoReasonToBeDeaf(t *testing.T) {
	l := newLease(time.Now())
	beats := uint64(0)
	tick := func(beat bool) {
		if beat {
			beats++
			l.heard()
		}
		l.tick(leaseTick, time.Now(), beats, false)
	}
	for i := range 6000 {
		tick(i%2 == 0) // 5 a second
	}
	for range 300 {
		tick(false)
	}
	require.Zero(t, l.pardon.Load())
}

func TestWheel_FiresInTimeAndOnce(t *testing.T) {
	var w wheel
	dues := []time.Duration{0, 50 * time.Millisecond, time.Second, 51_200 * time.Millisecond, 52 * time.Second, 24 * time.Hour}
	for port, due := range dues {
		w.add(timer{key: InstanceKey{Port: port}, due: due})
	}
	fired := make(map[int]time.Duration)
	for now := time.Duration(0); now <= 24*time.Hour; now += leaseTick {
		for _, t2 := range w.advance(now) {
			require.NotContains(t, fired, t2.key.Port)
			fired[t2.key.Port] = now
		}
	}
	for port, due := range dues {
		require.GreaterOrEqual(t, fired[port], due)
		require.LessOrEqual(t, fired[port], due+leaseTick)
	}
	for i := range w.slots {
		require.Nil(t, w.slots[i])
	}
}

func TestWheel_CatchesUp(t *testing.T) {
	var w wheel
	for port := range 100 {
		w.add(timer{key: InstanceKey{Port: port}, due: time.Duration(port) * leaseTick})
	}
	require.Len(t, w.advance(time.Minute), 100)
}
