package naming

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestSB05_LateBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("late")
		r := withMetadata(registration("192.0.2.1", 1), "v", "1",
			wire.MetadataBeatTimeout, "2000", wire.MetadataDeleteTimeout, "3000")
		require.NoError(t, s.Register(k, r))
		time.Sleep(6 * time.Second)
		require.Empty(t, ports(s, k))

		light, err := s.Beat(k, r.InstanceKey, nil)
		require.NoError(t, err)
		require.False(t, light.Known)
		require.Empty(t, ports(s, k), "a light beat creates nothing")

		full := &wire.Beat{IP: "192.0.2.1", Port: 1, Weight: 3, Metadata: map[string]string{"v": "1"}}
		result, err := s.Beat(k, r.InstanceKey, full)
		require.NoError(t, err)
		require.True(t, result.Known)
		i := instance(t, s, k, r.InstanceKey)
		require.Equal(t, map[string]string{"v": "1"}, i.Metadata)
		require.Equal(t, 3.0, i.Weight)
		require.True(t, i.Healthy && i.Enabled && i.Ephemeral)

		_, err = s.Beat(k, r.InstanceKey, &wire.Beat{Weight: 9, Metadata: map[string]string{"v": "2"}})
		require.NoError(t, err)
		i = instance(t, s, k, r.InstanceKey)
		require.Equal(t, map[string]string{"v": "1"}, i.Metadata, "a beat never changes a known instance")
		require.Equal(t, 3.0, i.Weight)
	})
}

func TestSB06_TheDocumentDoesNotRedirectABeat(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("s6")
	k.Group = "PAY"
	require.NoError(t, s.Register(k, registration("192.0.2.40", 8140)))
	before := lookup(t, s, k)
	for _, name := range []string{"s6", "PAY@@s6", "OTHER@@s7", ""} {
		result, err := s.Beat(k, at("192.0.2.40", 8140), &wire.Beat{
			IP: "192.0.2.41", Port: 1, Cluster: "C", ServiceName: name, Weight: 9,
		})
		require.NoError(t, err)
		require.True(t, result.Known)
	}
	require.Same(t, before, lookup(t, s, k))
	require.Equal(t, 1, s.Stats().Services)
}

func TestBeat_WhatItCreates(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("created")
	for port, c := range []struct{ weight, want float64 }{{0, 0}, {1e6, 10000}, {1e-6, 0.01}, {-1, 0}, {2.5, 2.5}} {
		result, err := s.Beat(k, InstanceKey{IP: "host-a", Port: port}, &wire.Beat{Weight: c.weight})
		require.NoError(t, err)
		require.True(t, result.Known)
		i := instance(t, s, k, at("host-a", port))
		require.Equal(t, c.want, i.Weight)
		require.Empty(t, i.Metadata)
	}
	_, err := s.Beat(k, InstanceKey{Cluster: "a_b", IP: "192.0.2.1", Port: 1}, &wire.Beat{})
	requireBadRequest(t, err, "cluster name can only have these characters")
	_, err = s.Beat(serviceKey("a b"), at("192.0.2.1", 1), &wire.Beat{})
	requireBadRequest(t, err, "dom name can only have these characters")
}

func TestBeat_LightOfAnythingUnknownIsNoError(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("light")
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	for name, key := range map[string]InstanceKey{
		"no address":   {},
		"no such port": at("192.0.2.1", -7),
		"bad cluster":  {Cluster: "a_b", IP: "192.0.2.1", Port: 1},
	} {
		result, err := s.Beat(k, key, nil)
		require.NoError(t, err, name)
		require.Equal(t, BeatResult{Interval: 5 * time.Second}, result, name)
	}
}

func TestCase08_ALateBeatDoesNotUndoADeregistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("zombie")
		r := registration("192.0.2.1", 1)
		beat := func() bool {
			result, err := s.Beat(k, r.InstanceKey, &wire.Beat{Weight: 1})
			require.NoError(t, err)
			return result.Known
		}
		require.NoError(t, s.Register(k, r))
		require.NoError(t, s.Deregister(k, r.InstanceKey))
		require.False(t, beat())
		time.Sleep(9 * time.Second)
		require.False(t, beat(), "within two beat intervals")
		time.Sleep(2 * time.Second)
		require.True(t, beat(), "after them")

		require.NoError(t, s.Deregister(k, r.InstanceKey))
		require.NoError(t, s.Register(k, r), "registering ends it at once")
		require.True(t, beat())
	})
}

func TestCase08_TombstonesDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("graves")
		for port := range 1000 {
			r := withMetadata(registration("192.0.2.1", port), wire.MetadataBeatInterval, "86400000")
			require.NoError(t, s.Register(k, r))
			require.NoError(t, s.Deregister(k, r.InstanceKey))
		}
		e, _ := s.entry(k)
		graves := func() (n int) {
			require.NoError(t, e.do(func(*draft) error { n = len(e.gone); return nil }))
			return n
		}
		require.Equal(t, 1000, graves())
		time.Sleep(longestTombstone - time.Second)
		require.Equal(t, 1000, graves(), "the service is not retired while it has them")
		time.Sleep(2 * time.Second)
		require.Zero(t, graves())
	})
}

func TestBeat_Interval(t *testing.T) {
	switches := NewSwitches()
	require.NoError(t, switches.Set("clientBeatInterval", "7000"))
	s := newStore(t, Options{Switches: switches})
	k := serviceKey("interval")
	for port, c := range []struct {
		metadata []string
		want     time.Duration
	}{
		{nil, 7 * time.Second},
		{[]string{wire.MetadataBeatInterval, "1000"}, time.Second},
		{[]string{wire.MetadataBeatInterval, "abc"}, 5 * time.Second},
	} {
		require.NoError(t, s.Register(k, withMetadata(registration("192.0.2.1", port), c.metadata...)))
		result, err := s.Beat(k, at("192.0.2.1", port), nil)
		require.NoError(t, err)
		require.Equal(t, BeatResult{Known: true, Interval: c.want}, result)
	}
	result, err := s.Beat(k, at("192.0.2.9", 1), nil)
	require.NoError(t, err)
	require.Equal(t, BeatResult{Interval: 7 * time.Second}, result)
}

func TestSB20_ABeatAllocatesNothingAndPublishesNothing(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("hot")
	for port := range 1000 {
		require.NoError(t, s.Register(k, registration("192.0.2.1", port)))
	}
	require.NoError(t, s.Register(k, registration("2001:db8::5", 1)))
	before := lookup(t, s, k)
	for _, ip := range []string{"192.0.2.1", "2001:db8::5"} {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if result, err := s.Beat(k, at(ip, 1), nil); err != nil || !result.Known {
				t.Fatal(result, err)
			}
		}), ip)
	}
	require.Same(t, before, lookup(t, s, k))
}

func TestLookup_AllocatesNothing(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("hot")
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Lookup(k) }))
}

func TestBeat_OvertakingAJudgementIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("race")
		a, b := registration("192.0.2.1", 1), registration("192.0.2.1", 2)
		require.NoError(t, s.Register(k, a))
		require.NoError(t, s.Register(k, b))
		judged := instance(t, s, k, a.InstanceKey)
		e, _ := s.entry(k)

		require.NoError(t, e.do(func(d *draft) error { // as expiry does, the beat coming before the publication
			d.replace(judged, judged.withHealth(false))
			return nil
		}))
		e.pardon(judged)
		require.True(t, instance(t, s, k, a.InstanceKey).Healthy)

		require.NoError(t, e.do(func(d *draft) error {
			i, _ := d.instances.get(a.InstanceKey)
			d.remove(i)
			return nil
		}))
		e.pardon(judged)
		require.True(t, instance(t, s, k, a.InstanceKey).Healthy)

		require.NoError(t, s.Deregister(k, a.InstanceKey))
		e.pardon(judged)
		require.Equal(t, []int{2}, ports(s, k), "a deregistration stands")
	})
}
