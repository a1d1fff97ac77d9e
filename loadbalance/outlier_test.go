package loadbalance_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func outlier(p *loadbalance.Properties) { p.Outlier.Enabled = true }

// fail ends calls to the instance with an error until n of them have.
func end(t *testing.T, l *loadbalance.LoadBalancer, ip string, n int, err error) {
	t.Helper()
	for tries := 0; n > 0; tries++ {
		require.Less(t, tries, 1000, "%s is not chosen", ip)
		r, chooseErr := l.Choose(t.Context(), orders)
		require.NoError(t, chooseErr)
		if r.Instance.IP != ip {
			r.Done(loadbalance.Outcome{StatusCode: 200})
			continue
		}
		r.Done(loadbalance.Outcome{Err: err})
		n--
	}
}

// used returns where calls go now, each of which ends at once without a word.
func used(t *testing.T, l *loadbalance.LoadBalancer) string {
	t.Helper()
	counts := map[string]int{}
	for range 200 {
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		counts[r.Instance.IP[len("192.0.2."):]]++
		r.Done(loadbalance.Outcome{Err: errors.New("says nothing about reachability")})
	}
	return keys(counts)
}

func TestDR12_EjectionDoublesAndOneSuccessResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := having(t, with(outlier), inst(1), inst(2), inst(3))
		end(t, l, "192.0.2.1", 2, errRefused)
		require.Equal(t, "123", used(t, l), "two are not enough")
		end(t, l, "192.0.2.1", 1, context.DeadlineExceeded)
		require.Equal(t, "23", used(t, l))
		state, _ := l.State(orders)
		require.Equal(t, 3, state.Instances[0].Failures)
		require.Equal(t, 10*time.Second, state.Instances[0].EjectedFor)
		require.Zero(t, state.Instances[0].EffectiveWeight)
		for _, length := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second} {
			time.Sleep(length - time.Millisecond)
			require.Equal(t, "23", used(t, l), length)
			time.Sleep(time.Millisecond)
			require.Equal(t, "123", used(t, l), length)
			end(t, l, "192.0.2.1", 1, errRefused)
			require.Equal(t, "23", used(t, l), "one more is enough")
		}
		time.Sleep(30 * time.Second)
		end(t, l, "192.0.2.1", 1, nil)
		end(t, l, "192.0.2.1", 2, errRefused)
		require.Equal(t, "123", used(t, l), "a success begins anew")
	})
}

// An instance that may not be ejected, as the only one of its service, goes on
// failing. Its first ejection is as long as any other's.
func TestDR12_OnlyEjectionsDoubleTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		s.Set(orders, inst(1))
		l := balancer(t, s, with(outlier))
		end(t, l, "192.0.2.1", 100, errRefused)
		require.Equal(t, "1", used(t, l))
		s.Put(inst(2))
		for _, length := range []time.Duration{10 * time.Second, 20 * time.Second} {
			end(t, l, "192.0.2.1", 1, errRefused)
			require.Equal(t, "2", used(t, l))
			state, _ := l.State(orders)
			require.Equal(t, length, state.Instances[0].EjectedFor)
			time.Sleep(length)
			require.Equal(t, "12", used(t, l))
		}
	})
}

// Every figure of an ejection is the configuration's.
func TestDR12_ThresholdTimesAndShareAreKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := having(t, with(outlier, func(p *loadbalance.Properties) {
			p.Outlier.Threshold, p.Outlier.Factor, p.Outlier.MaxTimeout, p.Outlier.MaxEjectedPercent = 5, 4*time.Second, 7*time.Second, 25
		}), inst(1), inst(2), inst(3), inst(4))
		end(t, l, "192.0.2.1", 4, errRefused)
		require.Equal(t, "1234", used(t, l), "four are not enough")
		end(t, l, "192.0.2.1", 1, errRefused)
		require.Equal(t, "234", used(t, l))
		end(t, l, "192.0.2.2", 9, errRefused)
		require.Equal(t, "234", used(t, l), "a quarter is out already")
		end(t, l, "192.0.2.2", 1, nil)
		for _, length := range []time.Duration{4 * time.Second, 7 * time.Second, 7 * time.Second} {
			time.Sleep(length - time.Millisecond)
			require.Equal(t, "234", used(t, l), length)
			time.Sleep(time.Millisecond)
			require.Equal(t, "1234", used(t, l), length)
			end(t, l, "192.0.2.1", 1, errRefused)
			require.Equal(t, "234", used(t, l), length)
		}
	})
}

// Calls that were under way when an instance was ejected neither prolong the
// ejection nor count as further ones.
func TestDR12_CallsThatBeganBeforeAnEjectionDoNotProlongIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := having(t, with(outlier), inst(1), inst(2), inst(3))
		var late []loadbalance.Result
		for len(late) < 5 {
			r, err := l.Choose(t.Context(), orders)
			require.NoError(t, err)
			if r.Instance.IP == "192.0.2.1" {
				late = append(late, r)
			} else {
				r.Done(loadbalance.Outcome{StatusCode: 200})
			}
		}
		end(t, l, "192.0.2.1", 3, errRefused)
		require.Equal(t, "23", used(t, l))
		time.Sleep(5 * time.Second)
		for _, r := range late {
			r.Done(loadbalance.Outcome{Err: errRefused})
		}
		time.Sleep(5 * time.Second)
		require.Equal(t, "123", used(t, l), "ten seconds, as the first time")
		end(t, l, "192.0.2.1", 1, errRefused)
		state, _ := l.State(orders)
		require.Equal(t, 20*time.Second, state.Instances[0].EjectedFor, "and twenty the second")
	})
}

func TestDR12_WhatCounts(t *testing.T) {
	l := having(t, with(outlier), inst(1), inst(2))
	end(t, l, "192.0.2.1", 9, errReset)
	end(t, l, "192.0.2.1", 9, context.Canceled)
	require.Equal(t, "12", used(t, l))
	end(t, l, "192.0.2.1", 2, errRefused)
	end(t, l, "192.0.2.1", 1, nil)
	end(t, l, "192.0.2.1", 2, errRefused)
	require.Equal(t, "12", used(t, l), "not in a row")
}

// A caller in a hurry must not have sound instances ejected for everybody else.
func TestDR12_CallersOwnDeadlineDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := having(t, with(outlier), inst(1), inst(2))
		defer l.Close()
		rt := loadbalance.NewTransport(l, base(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/connect" {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: timeoutError{}}
			}
			if r.URL.Path == "/body" {
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(waitingReader{r.Context()})}, nil
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		}), loadbalance.TransportOptions{DisableRetry: true})
		call := func(path string) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://orders"+path, nil)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			require.Error(t, err)
		}
		for range 20 {
			call("/slow")
			call("/body")
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			err := l.Do(ctx, orders, func(ctx context.Context, _ *registry.Instance) error {
				<-ctx.Done()
				return ctx.Err()
			})
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.Equal(t, "12", used(t, l))
		state, _ := l.State(orders)
		require.Zero(t, state.Instances[0].Failures+state.Instances[1].Failures)
		for range 10 {
			call("/connect")
		}
		require.Len(t, used(t, l), 1, "what the transport allows for a connection does")
	})
}

// waitingReader waits for the end of a context.
type waitingReader struct{ ctx context.Context }

func (r waitingReader) Read([]byte) (int, error) {
	<-r.ctx.Done()
	return 0, r.ctx.Err()
}

func TestDR12_AtMostHalfIsEjected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		s.Set(orders, inst(1), inst(2), inst(3), inst(4))
		l := balancer(t, s, with(outlier))
		end(t, l, "192.0.2.1", 3, errRefused)
		time.Sleep(time.Second)
		end(t, l, "192.0.2.2", 3, errRefused)
		require.Equal(t, "34", used(t, l))
		end(t, l, "192.0.2.3", 20, errRefused)
		require.Equal(t, "34", used(t, l))
		s.Set(orders, inst(1), inst(2), inst(3))
		require.Equal(t, "13", used(t, l), "the list shrank: who would come back first does")
		s.Set(orders, inst(1))
		require.Equal(t, "1", used(t, l))
	})
}

func TestDR12_ActiveLimit(t *testing.T) {
	o := with(outlier, func(p *loadbalance.Properties) { p.Outlier.ActiveLimit = 2 })
	l := having(t, o, inst(1), inst(2))
	counts := map[string]int{}
	var open []loadbalance.Result
	for range 4 {
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		counts[r.Instance.IP]++
		open = append(open, r)
	}
	require.Equal(t, map[string]int{"192.0.2.1": 2, "192.0.2.2": 2}, counts)
	r, err := l.Choose(t.Context(), orders)
	require.NoError(t, err, "all are at the limit: one has to do")
	for _, r := range append(open, r) {
		r.Done(loadbalance.Outcome{})
	}
	state, _ := l.State(orders)
	require.Zero(t, state.Instances[0].Active+state.Instances[1].Active)
}

// Another attempt does not come back to the instance that failed because the next
// one is at its limit.
func TestDR12_TheActiveLimitDoesNotLeadBackToWhatWasTried(t *testing.T) {
	o := with(outlier, func(p *loadbalance.Properties) { p.Outlier.ActiveLimit = 1 })
	l := having(t, o, inst(1), inst(2), inst(3))
	busy := inst(3) // the tried one follows it
	for {
		r, err := l.Choose(t.Context(), orders)
		require.NoError(t, err)
		if r.Instance.IP == busy.IP {
			break // and its call goes on
		}
		r.Done(loadbalance.Outcome{StatusCode: 200})
	}
	tried := inst(1)
	for range 100 {
		r, err := l.Choose(t.Context(), orders, &tried)
		require.NoError(t, err)
		require.Equal(t, inst(2).IP, r.Instance.IP)
		r.Done(loadbalance.Outcome{StatusCode: 200})
	}
}

// The balancer itself remembers who cannot be reached; the registry need not have
// noticed yet.
func TestDR11_DeadInstanceIsNotCalledAgainAndAgain(t *testing.T) {
	for _, on := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) { // in which no ejection comes to its end
			refused := 0
			o := with(func(p *loadbalance.Properties) { p.Outlier.Enabled = on })
			o.Rand = seeded()
			rt := loadbalance.NewTransport(having(t, o, inst(1), inst(2)), base(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == first {
					refused++
					return nil, errRefused
				}
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			}), loadbalance.TransportOptions{})
			for range 200 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://orders/", nil)
				require.NoError(t, err)
				resp, err := rt.RoundTrip(req)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
			}
			if on {
				require.Equal(t, 3, refused)
			} else {
				require.Greater(t, refused, 50)
			}
		})
	}
}
