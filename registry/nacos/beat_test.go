package nacos_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

// period is one beat interval and the moment the beat itself takes.
const period = 5*time.Second + time.Millisecond

func TestCR6_BeatsFromOnePeriodAfterRegistering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		began := time.Now()
		require.NoError(t, r.Register(t.Context(), registration()))
		require.Empty(t, c.Nodes[0].Beats())
		time.Sleep(31 * time.Second)
		beats := c.Nodes[0].Beats()
		require.Len(t, beats, 6)
		for _, gap := range gaps(began, beats) {
			require.Equal(t, 5*time.Second, gap)
		}
		require.False(t, isLight(beats[0]), "full until the server offers light ones")
		require.True(t, isLight(beats[1]))
		state := r.Beats()
		require.Len(t, state, 1)
		require.Equal(t, registration().Key(), state[0].Key)
		require.Equal(t, 5*time.Second, state[0].Interval)
		require.Equal(t, time.Second, time.Since(state[0].LastBeat))
		require.NoError(t, state[0].LastError)
	})
}

func TestCR6_FullBeatsWhereLightOnesAreOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].SetLightBeats(false)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		time.Sleep(21 * time.Second)
		for _, beat := range c.Nodes[0].Beats() {
			require.False(t, isLight(beat))
		}
		c.Nodes[0].Wipe()
		time.Sleep(period)
		require.Len(t, c.Nodes[0].Instances("public", service), 1, "a full beat restores")
	})
}

func TestCR6_IntervalOfTheMetadataAndOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		began := time.Now()
		require.NoError(t, r.Register(t.Context(), withMillis(registration(), registry.MetadataBeatInterval, 2*time.Second)))
		time.Sleep(6500 * time.Millisecond)
		require.Equal(t, []time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second}, gaps(began, c.Nodes[0].Beats()))
		require.NoError(t, r.Deregister(t.Context(), registration()))

		c.Nodes[0].ForgetRequests()
		c.Nodes[0].SetBeatInterval(3 * time.Second)
		began = time.Now()
		require.NoError(t, r.Register(t.Context(), registration()))
		time.Sleep(12 * time.Second)
		require.Equal(t, []time.Duration{5 * time.Second, 3 * time.Second, 3 * time.Second}, gaps(began, c.Nodes[0].Beats()))

		c.Nodes[0].ForgetRequests()
		c.Nodes[0].SetBeatInterval(time.Millisecond)
		time.Sleep(10500 * time.Millisecond)
		require.LessOrEqual(t, len(c.Nodes[0].Beats()), 10, "a mad server does not make us mad")
	})
}

// A server that asks for beats more rarely than once a day does not know what it
// says: the instance would be gone at once.
func TestCR6_AnIntervalBeyondADayIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		for _, hours := range []time.Duration{25, 1 << 40} {
			ms := hours * 3600 * 1000
			c.Nodes[0].SetFault(onBeat(func() *testutil.Fault {
				return &testutil.Fault{Status: 200, Body: fmt.Sprintf(`{"clientBeatInterval":%d,"code":10200}`, ms)}
			}))
			time.Sleep(11 * time.Second)
			c.Nodes[0].SetFault(nil)
			require.Equal(t, 5*time.Second, r.Beats()[0].Interval, "%d hours", hours)
			requireNextBeat(t, c.Nodes[0], "ignored")
		}
		c.Nodes[0].SetFault(onBeat(func() *testutil.Fault {
			return &testutil.Fault{Status: 200, Body: `{"clientBeatInterval":86400000,"code":10200}`}
		}))
		time.Sleep(11 * time.Second)
		require.Equal(t, 24*time.Hour, r.Beats()[0].Interval, "a day is what an operator may ask for")
	})
}

// The loop gets every odd answer there is, one after the other; each time the
// next beat arrives within a period.
func TestCase10_BeatLoopSurvivesAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		transport := &panicking{RoundTripper: c.Transport(t)}
		r := newRegistryOver(t, c, transport, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		for name, odd := range map[string]testutil.Fault{
			"HTML 500":         {Status: 500, Body: "<html><body>Whitelabel Error Page</body></html>"},
			"HTML 200":         {Status: 200, Body: "<html>log in here</html>"},
			"empty body":       {Status: 200},
			"{}":               {Status: 200, Body: "{}"},
			"null":             {Status: 200, Body: "null"},
			"array":            {Status: 200, Body: "[]"},
			"wrong types":      {Status: 200, Body: `{"clientBeatInterval":"soon","code":{}}`},
			"negative":         {Status: 200, Body: `{"clientBeatInterval":-5000,"code":10200}`},
			"overflow":         {Status: 200, Body: `{"clientBeatInterval":9223372036854775807,"code":10200}`},
			"huge body":        {Status: 200, Body: strings.Repeat(" ", 2<<20)},
			"reset":            {Reset: true},
			"403":              {Status: 403},
			"400":              {Status: 400},
			"no answer at all": {Delay: time.Hour},
		} {
			c.Nodes[0].SetFault(onBeat(func() *testutil.Fault { return &odd }))
			time.Sleep(20 * time.Second)
			c.Nodes[0].SetFault(nil)
			requireNextBeat(t, c.Nodes[0], name)
		}
		transport.on.Store(true)
		time.Sleep(20 * time.Second)
		require.ErrorContains(t, r.Beats()[0].LastError, "panic")
		require.Equal(t, 4, r.Beats()[0].Failures)
		transport.on.Store(false)
		requireNextBeat(t, c.Nodes[0], "panic")
		require.NoError(t, r.Beats()[0].LastError)
	})
}

func TestCR7_AFailedLongIntervalIsCutToFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		long := withMillis(registration(), registry.MetadataBeatInterval, time.Minute)
		long = withMillis(long, registry.MetadataBeatTimeout, 3*time.Minute)
		long = withMillis(long, registry.MetadataDeleteTimeout, 6*time.Minute)
		require.NoError(t, r.Register(t.Context(), long))
		c.Nodes[0].SetFault(onBeat(func() *testutil.Fault { return &testutil.Fault{Status: 404} }))
		began := time.Now()
		time.Sleep(66 * time.Second)
		require.Equal(t, []time.Duration{time.Minute, 5 * time.Second}, gaps(began, c.Nodes[0].Beats()))
	})
}

func TestCR7_TheNextServerIsFirstAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 3)
		for _, node := range c.Nodes[:2] {
			node.SetFault(onBeat(func() *testutil.Fault { return &testutil.Fault{Delay: time.Hour} }))
		}
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		time.Sleep(2 * time.Minute)
		beats := c.Nodes[2].Beats()
		require.NotEmpty(t, beats)
		for _, gap := range gaps(beats[0].Time, beats)[1:] {
			require.Less(t, gap, 15*time.Second, "two silent servers of three never cost the health")
		}
	})
}

func requireNextBeat(t *testing.T, fake *testutil.FakeNacos, after string) {
	t.Helper()
	before := len(fake.Beats())
	time.Sleep(period)
	require.Greater(t, len(fake.Beats()), before, "no beat within a period after %q", after)
	require.Len(t, fake.Instances("public", service), 1, after)
}

type panicking struct {
	http.RoundTripper
	on atomic.Bool
}

func (p *panicking) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.on.Load() {
		panic("metadata that cannot be written")
	}
	return p.RoundTripper.RoundTrip(r)
}

// The server restarts empty between two beats, with light beats on.
func TestCase11_ALostInstanceIsBackWithinAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		want := registration()
		want.Weight, want.Metadata = 2.5, map[string]string{"version": "7"}
		require.NoError(t, r.Register(t.Context(), want))
		time.Sleep(11 * time.Second)
		require.True(t, isLight(c.Nodes[0].Beats()[1]))
		c.Nodes[0].Wipe()
		time.Sleep(period)
		requireStored(t, c.Nodes[0], want)

		// Changed meanwhile: what comes back is the state of now.
		want.Weight = 4
		require.NoError(t, r.Register(t.Context(), want))
		require.NoError(t, r.SetStatus(t.Context(), want, registry.StatusDown))
		want.Enabled = false
		c.Nodes[0].Wipe()
		time.Sleep(period)
		requireStored(t, c.Nodes[0], want)
	})
}

// A full beat would bring the instance back enabled, so that a disabled one is
// kept by light ones even where the server does not ask for them.
func TestBR4_ADisabledInstanceComesBackDisabled(t *testing.T) {
	for _, light := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := testutil.NewCluster(t, 1)
			c.Nodes[0].SetLightBeats(light)
			r := newRegistry(t, c, nil)
			want := registration()
			require.NoError(t, r.Register(t.Context(), want))
			require.NoError(t, r.SetStatus(t.Context(), want, registry.StatusDown))
			want.Enabled = false
			for range 3 {
				c.Nodes[0].Wipe()
				time.Sleep(period)
				requireStored(t, c.Nodes[0], want)
			}
			require.NoError(t, r.SetStatus(t.Context(), want, registry.StatusUp))
			want.Enabled = true
			requireStored(t, c.Nodes[0], want)
		})
	}
}

func TestCR5_AFailedRestoreIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		time.Sleep(6 * time.Second)
		c.Nodes[0].Wipe()
		c.Nodes[0].SetFault(func(r testutil.Request) *testutil.Fault {
			if r.Is(http.MethodPost, "/ns/instance") {
				return &testutil.Fault{Status: 429}
			}
			return nil
		})
		time.Sleep(period)
		require.Error(t, r.Beats()[0].LastError)
		c.Nodes[0].SetFault(nil)
		time.Sleep(period)
		requireStored(t, c.Nodes[0], registration())
	})
}

func requireStored(t *testing.T, fake *testutil.FakeNacos, want registry.Registration) {
	t.Helper()
	stored := fake.Instances("public", service)
	require.Len(t, stored, 1)
	got := stored[0]
	require.Equal(t, want.IP, got.IP)
	require.Equal(t, want.Weight, got.Weight)
	require.Equal(t, want.Enabled, got.Enabled)
	require.Equal(t, want.Ephemeral, got.Ephemeral)
	for key, value := range want.Metadata {
		require.Equal(t, value, got.Metadata[key], key)
	}
}

// A registry that lost the instance may say so in other words than the protocol's.
func TestCase11_AnAnswerNobodyKnowsRegistersAgain(t *testing.T) {
	for name, odd := range map[string]testutil.Fault{
		"another code":        {Status: 200, Body: `{"clientBeatInterval":5000,"code":20500}`},
		"only another code":   {Status: 200, Body: `{"code":404}`},
		"an empty document":   {Status: 200, Body: "{}"},
		"a page":              {Status: 200, Body: "<html>no such instance</html>"},
		"nothing":             {Status: 200},
		"not found by status": {Status: 404, Body: "instance not found"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testutil.NewCluster(t, 1)
				r := newRegistry(t, c, nil)
				want := registration()
				want.Weight, want.Metadata = 2.5, map[string]string{"version": "7"}
				require.NoError(t, r.Register(t.Context(), want))
				require.NoError(t, r.SetStatus(t.Context(), want, registry.StatusDown))
				want.Enabled = false
				time.Sleep(11 * time.Second)
				c.Nodes[0].Wipe()
				c.Nodes[0].SetFault(onBeat(func() *testutil.Fault { return &odd }))
				time.Sleep(period + time.Second)
				requireStored(t, c.Nodes[0], want)
				require.Error(t, r.Beats()[0].LastError, "it is told all the same")

				c.Nodes[0].SetFault(nil)
				time.Sleep(period)
				require.NoError(t, r.Beats()[0].LastError)
			})
		})
	}
}

// What says nothing about the instance is no reason to register it.
func TestCase11_AFailureAloneDoesNotRegisterAgain(t *testing.T) {
	for name, odd := range map[string]testutil.Fault{
		"500": {Status: 500, Body: "<html>Whitelabel Error Page</html>"}, "503": {Status: 503}, "429": {Status: 429},
		"reset": {Reset: true}, "no answer": {Delay: time.Hour}, "no code": {Status: 200, Body: `{"clientBeatInterval":5000}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testutil.NewCluster(t, 1)
				r := newRegistry(t, c, nil)
				require.NoError(t, r.Register(t.Context(), registration()))
				c.Nodes[0].SetFault(onBeat(func() *testutil.Fault { return &odd }))
				time.Sleep(21 * time.Second)
				require.NotEmpty(t, c.Nodes[0].Beats())
				require.Len(t, c.Nodes[0].Requests(http.MethodPost, "/ns/instance"), 1)
			})
		})
	}
}
