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

func TestReport(t *testing.T) {
	every := func(change func(i int, x *sample)) func(*report) {
		return func(r *report) {
			for i := range r.samples {
				change(i, &r.samples[i])
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*report)
		failed string
	}{
		"all is well":      {},
		"memory grows":     {every(func(i int, x *sample) { x.resident += int64(i) * 10 << 20 }), "resident memory"},
		"goroutines leak":  {every(func(i int, x *sample) { x.goroutines += 10 * float64(i) }), "goroutines"},
		"descriptors leak": {every(func(i int, x *sample) { x.descriptors += 10 * i }), "descriptors"},
		"too slow":         {every(func(_ int, x *sample) { x.beats = 4000 }), "beats"},
		"a flip":           {every(func(_ int, x *sample) { x.flips = 1 }), "health"},
		"seen unhealthy":   {every(func(_ int, x *sample) { x.unhealthy = 1 }), "health"},
		"forgotten":        {every(func(_ int, x *sample) { x.forgotten = 1 }), "instances"},
		"an error":         {every(func(_ int, x *sample) { x.wrong5xx = 1 }), "answers"},
		"no push":          {every(func(_ int, x *sample) { x.pushes = 0 }), "pushes"},
		"nothing changes":  {func(r *report) { r.churn = 0 }, ""},
		"a needless push":  {func(r *report) { r.churn = 0; r.samples[19].pushes = 2 }, "pushes"},
		"pushes pile up": {func(r *report) {
			r.unreachable = 10
			every(func(i int, x *sample) { x.pending += 10 * float64(i) })(r)
		}, "pushes to nobody that are pending"},
		"pushes stay":    {func(r *report) { r.unreachable, r.pending = 10, 1 }, "the same, when changes end"},
		"a flood":        {func(r *report) { r.logged = 6 << 20 }, "log"},
		"a small flood":  {func(r *report) { r.churn, r.logged = 0, 2<<20 }, "log"},
		"a bad end":      {func(r *report) { r.exit = errors.New("exit status 1") }, "SIGTERM"},
		"over too early": {func(r *report) { r.samples = r.samples[:3] }, "length"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &report{settings: settings{rate: 5000, churn: 20}, samples: fine()}
			if c.change != nil {
				c.change(r)
			}
			var out strings.Builder
			held := r.write(&out)
			require.Equal(t, c.failed == "", held, out.String())
			if c.failed != "" {
				require.Regexp(t, `\| `+c.failed+` \|.*\*\*failed\*\* \|`, out.String())
				require.Equal(t, 1, strings.Count(out.String(), "failed"))
			}
		})
	}
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
