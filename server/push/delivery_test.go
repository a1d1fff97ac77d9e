package push

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestRetry_OnceThenForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		s := start(t, n, st.answer)
		subscribe(t, s, "svc", one)
		began := time.Now()
		s.Change(key("svc"))
		time.Sleep(60 * time.Second)
		got := n.to(one)
		require.Len(t, got, 2)
		require.Equal(t, got[0].push, got[1].push, "the same bytes again")
		require.Equal(t, began, got[0].at)
		require.Equal(t, began.Add(10*time.Second), got[1].at)
		require.Equal(t, 1.0, testutil.ToFloat64(s.metrics.failed))
		_, pending, _, _ := s.counts()
		require.Zero(t, pending)
	})
}

func TestAck_EndsTheWait(t *testing.T) {
	tests := map[string]struct {
		from   netip.AddrPort
		format string
		acked  bool
	}{
		"text number":   {one, `{"type":"push-ack","lastRefTime":"%d","data":""}`, true},
		"number":        {one, `{"type":"push-ack","lastRefTime":%d,"data":""}`, true},
		"other type":    {one, `{"type":"unknown-ack","lastRefTime":"%d","data":""}`, true},
		"other port":    {two, `{"type":"push-ack","lastRefTime":"%d","data":""}`, false},
		"mapped source": {addr("[::ffff:127.0.0.1]:50001"), `{"type":"push-ack","lastRefTime":"%d"}`, true},
		"future number": {one, `{"type":"push-ack","lastRefTime":"9%d","data":""}`, false},
		"no JSON":       {one, `lastRefTime %d`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, st := newNetwork(), &state{}
				s := start(t, n, st.answer)
				subscribe(t, s, "svc", one)
				s.Change(key("svc"))
				synctest.Wait()
				n.in <- packet{test.from, fmt.Appendf(nil, test.format, n.to(one)[0].push.LastRefTime)}
				time.Sleep(30 * time.Second)
				want := 2
				if test.acked {
					want = 1
				}
				require.Len(t, n.to(one), want)
			})
		})
	}
}

func TestSB13_UnreachableSubscribersCostNothingForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		s := start(t, n, st.answer)
		const subscribers = 500
		poll := func() (accepted int) {
			for i := range subscribers {
				if s.Subscribe(Request{Service: key("svc"), ClientIP: "127.0.0.1", Port: 20000 + i}) {
					accepted++
				}
			}
			return accepted
		}
		require.Equal(t, subscribers, poll())
		refused := false
		for i := range 6000 { // ten changes a second for ten minutes
			st.value.Add(1)
			s.Change(key("svc"))
			if i%100 == 99 && poll() == 0 {
				refused = true
			}
			time.Sleep(100 * time.Millisecond)
			subscriptions, pending, clients, services := s.counts()
			require.LessOrEqual(t, subscriptions, subscribers)
			require.LessOrEqual(t, pending, subscribers)
			require.LessOrEqual(t, clients, subscribers)
			require.LessOrEqual(t, services, 1)
		}
		require.True(t, refused, "who keeps failing is told to poll for a while")
		// The window, the time that the rate to this one host gives to 500, and twice
		// the wait for an acknowledgement: no more than 23 s.
		time.Sleep(25 * time.Second)
		_, pending, _, _ := s.counts()
		require.Zero(t, pending, "25 s after the last change, where SB-13 allows 30")
		time.Sleep(time.Hour)
		subscriptions, _, clients, services := s.counts()
		require.Zero(t, subscriptions)
		require.Zero(t, clients)
		require.Zero(t, services)
		require.Empty(t, s.table.hosts)
	})
}

func TestSB13_DroppedUntilItPollsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		s := start(t, n, st.answer)
		subscribe(t, s, "svc", one)
		s.Change(key("svc"))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		require.Len(t, n.to(one), 2)
		s.Change(key("svc"))
		time.Sleep(time.Second)
		require.Len(t, n.to(one), 2, "dropped: nothing more")

		n.ackFrom(one)
		subscribe(t, s, "svc", one)
		s.Change(key("svc"))
		time.Sleep(time.Second)
		require.Len(t, n.to(one), 3, "it polled again")
	})
}

func TestSB13_BackOffGrowsAndEndsWithAnAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		s := start(t, n, st.answer)
		r := Request{Service: key("svc"), ClientIP: "127.0.0.1", Port: int(one.Port())}
		silent := func() { // until it is dropped
			require.True(t, s.Subscribe(r))
			s.Change(key("svc"))
			time.Sleep(20 * time.Second)
			synctest.Wait()
		}
		refused := func() (d time.Duration) {
			for !s.Subscribe(r) {
				time.Sleep(time.Second)
				d += time.Second
			}
			return d
		}
		silent()
		require.Zero(t, refused())
		for _, want := range []time.Duration{30, 60, 120, 240, 480, 600, 600} {
			silent()
			require.Equal(t, want*time.Second, refused())
		}
		n.ackFrom(one)
		s.Change(key("svc"))
		time.Sleep(time.Second)
		n.ackFrom()
		silent()
		require.Zero(t, refused(), "forgiven")
	})
}

func TestSend_ErrorsAreCountedAndTriedOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		n.fail = errors.New("network is unreachable")
		s := start(t, n, st.answer)
		subscribe(t, s, "svc", one)
		s.Change(key("svc"))
		time.Sleep(time.Minute)
		require.Equal(t, 2.0, testutil.ToFloat64(s.metrics.errors))
		_, pending, _, _ := s.counts()
		require.Zero(t, pending)
	})
}
