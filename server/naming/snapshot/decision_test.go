package snapshot

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/server/naming"
)

// TestSB22_DecisionsAreWrittenSoon: what an operator changed of ephemeral
// instances is not forgotten for the period, and a stream of changes does not
// make the snapshotter write all the time.
func TestSB22_DecisionsAreWrittenSoon(t *testing.T) {
	for name, c := range map[string]struct {
		slow   time.Duration
		spaces []time.Duration // between what is written, the first from the first decision
	}{
		"a small file": {0, []time.Duration{time.Second, time.Second, time.Second, time.Second}},
		"a large one": {
			300 * time.Millisecond,
			[]time.Duration{time.Second, 6300 * time.Millisecond, 6300 * time.Millisecond},
		},
		"a huge one": {
			10 * time.Second,
			[]time.Duration{time.Second, 40 * time.Second, 40 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ephemeral")
			synctest.Test(t, func(t *testing.T) {
				store := &faulty{slow: c.slow, decisions: make(chan struct{}, 1)}
				s := open(t, Options{Store: store, Path: path, Period: 30 * time.Second})
				time.Sleep(5 * time.Second)
				before := time.Now()
				for time.Since(before) < 100*time.Second {
					store.decide()
					time.Sleep(time.Millisecond)
				}
				require.NoError(t, s.Close())
				require.Greater(t, len(store.times), len(c.spaces))
				for i, space := range c.spaces {
					require.InDelta(t, space, store.times[i].Sub(before), float64(5*time.Millisecond), "write %d", i)
					before = store.times[i]
				}
			})
		})
	}
}

func TestSB22_ADecisionIsWrittenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ephemeral")
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{decisions: make(chan struct{}, 1)}
		s := open(t, Options{Store: store, Path: path})
		store.decide()
		time.Sleep(999 * time.Millisecond)
		store.decide()
		synctest.Wait()
		require.Zero(t, store.written())
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 1, store.written())
		store.decide()
		require.NoError(t, s.Close(), "it does not wait for what may come")
		require.Equal(t, 2, store.written())
	})
}

// TestSB22_WhatAnOperatorChangedOutlivesAKill has the real store and copies the
// file as a kill would leave it.
func TestSB22_WhatAnOperatorChangedOutlivesAKill(t *testing.T) {
	key := func(port int) naming.InstanceKey { return registration(port).InstanceKey }
	no, weight := false, 3.5
	given := naming.Given{Weight: true, Enabled: true, Metadata: true, App: true}
	for name, c := range map[string]struct {
		change func(t *testing.T, s *naming.Store)
		want   func(t *testing.T, s *naming.Store, i *naming.Instance)
	}{
		"taken out of service": {
			func(t *testing.T, s *naming.Store) {
				require.NoError(t, s.Patch(orders, key(1), naming.Patch{Enabled: &no}))
			},
			func(t *testing.T, _ *naming.Store, i *naming.Instance) { require.False(t, i.Enabled) },
		},
		"a weight": {
			func(t *testing.T, s *naming.Store) {
				require.NoError(t, s.Patch(orders, key(1), naming.Patch{Weight: &weight}))
			},
			func(t *testing.T, _ *naming.Store, i *naming.Instance) { require.InDelta(t, weight, i.Weight, 0) },
		},
		"everything": {
			func(t *testing.T, s *naming.Store) {
				r := registration(1)
				r.Metadata = map[string]string{"zone": "b"}
				require.NoError(t, s.Update(orders, r, given, true))
			},
			func(t *testing.T, _ *naming.Store, i *naming.Instance) { require.Equal(t, "b", i.Metadata["zone"]) },
		},
		"metadata": {
			func(t *testing.T, s *naming.Store) {
				require.Len(t, s.PatchMetadata(orders, nil, map[string]string{"zone": "c"}, nil), 2)
			},
			func(t *testing.T, _ *naming.Store, i *naming.Instance) { require.Equal(t, "c", i.Metadata["zone"]) },
		},
		"deregistered": {
			func(t *testing.T, s *naming.Store) { require.NoError(t, s.Deregister(orders, key(1))) },
			func(t *testing.T, s *naming.Store, i *naming.Instance) {
				require.Nil(t, i)
				require.Equal(t, 1, s.Stats().Instances)
			},
		},
		"the service deleted": {
			func(t *testing.T, s *naming.Store) { require.NoError(t, s.RemoveService(orders)) },
			func(t *testing.T, s *naming.Store, i *naming.Instance) { require.Zero(t, s.Stats().Instances) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, killed := t.TempDir(), filepath.Join(t.TempDir(), "ephemeral")
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(dir, "ephemeral")
				store := newStore(t)
				s := open(t, Options{Store: store, Path: path, Period: 10 * time.Second})
				require.NoError(t, store.Register(orders, registration(1)))
				require.NoError(t, store.Register(orders, registration(2)))
				time.Sleep(2 * time.Second)
				synctest.Wait()
				require.Empty(t, names(t, dir), "registrations come again by themselves")
				time.Sleep(9 * time.Second)
				synctest.Wait()
				require.NotEmpty(t, names(t, dir))
				c.change(t, store)
				time.Sleep(decisionDelay)
				synctest.Wait()
				left, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(killed, left, 0o600))
				require.NoError(t, s.Close())

				after := newStore(t)
				require.NoError(t, open(t, Options{Store: after, Path: killed}).Close())
				var found *naming.Instance
				if r, ok := after.Lookup(orders); ok {
					found, _ = r.Find(key(1))
				}
				c.want(t, after, found)
			})
		})
	}
}
