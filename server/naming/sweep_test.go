package naming

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestSB08_AtMostHalfOfAServiceGoesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("cliff")
		for port := range 100 {
			require.NoError(t, s.Register(k, shortLived(port)))
		}
		var sizes []int
		for range 60 {
			time.Sleep(500 * time.Millisecond)
			if n := lookup(t, s, k).Len(); len(sizes) == 0 || sizes[len(sizes)-1] != n {
				sizes = append(sizes, n)
			}
		}
		require.Equal(t, []int{100, 50, 25, 13, 7, 4, 2, 1, 0}, sizes)
	})
}

func TestSB08_SmallServicesGoByHalvesToo(t *testing.T) {
	for size, want := range map[int][]time.Duration{
		// How long after the first removal each of the others follows.
		1: {0},
		2: {0, 3 * time.Second},
		3: {0, 3 * time.Second, 6 * time.Second},
		5: {0, 0, 3 * time.Second, 6 * time.Second, 9 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStore(t, Options{})
			k := serviceKey("small")
			for port := range size {
				require.NoError(t, s.Register(k, shortLived(port)))
			}
			var gone []time.Duration
			start := time.Now()
			for len(gone) < size && time.Since(start) < time.Minute {
				time.Sleep(leaseTick)
				for range size - len(gone) - lookup(t, s, k).Len() {
					gone = append(gone, time.Since(start))
				}
			}
			require.Len(t, gone, size)
			requireBetween(t, gone[0], 6*time.Second, 6500*time.Millisecond, "the first goes on time")
			for i := range gone {
				require.InDelta(t, want[i].Seconds(), (gone[i] - gone[0]).Seconds(), 0.3, "%d of %d", i, size)
			}
		})
	}
}

func TestSB08_OneDeathAmongFewIsOnTime(t *testing.T) {
	for size := 2; size <= 3; size++ {
		synctest.Test(t, func(t *testing.T) {
			s := newStore(t, Options{})
			k := serviceKey("few")
			for port := range size {
				require.NoError(t, s.Register(k, shortLived(port)))
			}
			start := time.Now()
			for lookup(t, s, k).Len() == size && time.Since(start) < time.Minute {
				for port := 1; port < size; port++ {
					_, err := s.Beat(k, at("192.0.2.1", port), nil)
					require.NoError(t, err)
				}
				time.Sleep(leaseTick)
			}
			requireBetween(t, time.Since(start), 6*time.Second, 6500*time.Millisecond, "gone")
			require.Zero(t, testutil.ToFloat64(s.metrics.held))
		})
	}
}

func TestSB23_HeldRemovalsAreLoggedOncePerWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newStore(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		k := serviceKey("flood")
		for port := range 40 {
			require.NoError(t, s.Register(k, shortLived(port)))
			time.Sleep(leaseTick / 2) // so that they fall due one after another
		}
		time.Sleep(40 * time.Second)
		require.Zero(t, lookup(t, s, k).Len())
		lines := strings.Count(log.String(), "more than half of a service fell silent at once")
		require.Positive(t, lines)
		require.LessOrEqual(t, lines, 8, "one for each window: %s", log.String())
	})
}

func TestSB08_WhatIsHeldBackCanStillBeSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{})
		k := serviceKey("saved")
		for port := range 100 {
			require.NoError(t, s.Register(k, shortLived(port)))
		}
		time.Sleep(7 * time.Second)
		left := ports(s, k)
		require.Len(t, left, 50)
		for range 20 {
			for _, port := range left {
				_, err := s.Beat(k, at("192.0.2.1", port), nil)
				require.NoError(t, err)
			}
			time.Sleep(time.Second)
		}
		require.Equal(t, left, ports(s, k))
		require.Equal(t, 50, lookup(t, s, k).HealthyCount())
	})
}
