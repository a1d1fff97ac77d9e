package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fine returns the samples of a run in which nothing happened.
func fine() []sample {
	samples := make([]sample, 20)
	for i := range samples {
		samples[i] = sample{
			process: process{resident: 100 << 20, descriptors: 70}, goroutines: 80, beats: 5000, pushes: 1, lists: 10,
		}
	}
	return samples
}

func TestVerdict(t *testing.T) {
	every := func(change func(i int, x *sample)) func([]sample) {
		return func(samples []sample) {
			for i := range samples {
				change(i, &samples[i])
			}
		}
	}
	for name, c := range map[string]struct {
		change func([]sample)
		logged int64
		exit   error
		failed string
	}{
		"all is well":      {},
		"memory grows":     {change: every(func(i int, x *sample) { x.resident += int64(i) * 10 << 20 }), failed: "resident memory"},
		"goroutines leak":  {change: every(func(i int, x *sample) { x.goroutines += 10 * float64(i) }), failed: "goroutines"},
		"descriptors leak": {change: every(func(i int, x *sample) { x.descriptors += 10 * i }), failed: "descriptors"},
		"too slow":         {change: every(func(_ int, x *sample) { x.beats = 4000 }), failed: "beats"},
		"a flip":           {change: every(func(_ int, x *sample) { x.flips = 1 }), failed: "health"},
		"seen unhealthy":   {change: every(func(_ int, x *sample) { x.unhealthy = 1 }), failed: "health"},
		"forgotten":        {change: every(func(_ int, x *sample) { x.forgotten = 1 }), failed: "nobody is lost"},
		"an error":         {change: every(func(_ int, x *sample) { x.wrong5xx = 1 }), failed: "answers"},
		"no push":          {change: every(func(_ int, x *sample) { x.pushes = 0 }), failed: "pushes"},
		"a flood":          {logged: 6 << 20, failed: "log"},
		"a bad end":        {exit: errors.New("exit status 1"), failed: "end"},
	} {
		t.Run(name, func(t *testing.T) {
			samples := fine()
			if c.change != nil {
				c.change(samples)
			}
			var out strings.Builder
			held := verdict(&out, settings{rate: 5000}, samples, c.logged, c.exit)
			require.Equal(t, c.failed == "", held, out.String())
			if c.failed != "" {
				require.Contains(t, out.String(), "FAILED "+c.failed)
				require.Equal(t, 1, strings.Count(out.String(), "FAILED"))
			}
		})
	}
	require.False(t, verdict(&strings.Builder{}, settings{}, fine()[:3], 0, nil))
}

func TestLatencies_AreOfTheTimeSinceTheLastLook(t *testing.T) {
	var l latencies
	for i := range 200 {
		l.add(time.Duration(i))
	}
	require.Equal(t, time.Duration(198), l.take())
	require.Zero(t, l.take())
}

func TestPushNumber(t *testing.T) {
	n, err := pushNumber([]byte(`{"type":"dom","data":"{}","lastRefTime":7}`))
	require.NoError(t, err)
	require.EqualValues(t, 7, n)
	_, err = pushNumber([]byte{0x1f, 0x8b, 0})
	require.Error(t, err)
}
