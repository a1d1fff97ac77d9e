package push

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestSend_RateToOneHostIsCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		s := start(t, n, st.answer, func(o *Options) { o.RatePerHost = 10 })
		const services = 1000
		for i := range services {
			subscribe(t, s, fmt.Sprint("svc", i), one)
		}
		for i := range services {
			s.Change(key(fmt.Sprint("svc", i)))
		}
		time.Sleep(50 * time.Millisecond)
		require.Len(t, n.to(one), 50, "the burst")
		require.Equal(t, 950.0, testutil.ToFloat64(s.metrics.limited))
		time.Sleep(time.Second)
		require.Len(t, n.to(one), 60, "one after another")
		time.Sleep(2 * time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Zero(t, s.waiting, "who acknowledges nothing is given up, held back or not")
		require.Zero(t, s.throttled.len())
	})
}

func TestSB12_DeadSocketsDoNotHoldUpTheirMachinesLivingOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		n.ackFrom(one, two)
		s := start(t, n, st.answer, func(o *Options) { o.RatePerHost = 10 })
		subscribe(t, s, "svc", one)
		subscribe(t, s, "other", two)
		s.Change(key("svc"))
		s.Change(key("other"))
		time.Sleep(time.Second)
		for port := range 300 {
			subscribe(t, s, "svc", netip.AddrPortFrom(one.Addr(), uint16(10000+port)))
		}
		for change := 1; change <= 100; change++ {
			st.value.Add(1)
			s.Change(key("svc"))
			if change%10 == 0 {
				s.Change(key("other"))
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(2*time.Second - 100*time.Millisecond)
		for _, a := range []netip.AddrPort{one, two} {
			got := n.to(a)
			require.Equal(t, data(100), got[len(got)-1].push.Data, a)
		}
	})
}

func TestSB12_EverybodyOfACrowdIsServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, st := newNetwork(), &state{}
		var crowd []netip.AddrPort
		for port := range 100 {
			crowd = append(crowd, netip.AddrPortFrom(one.Addr(), uint16(10000+port)))
		}
		n.ackFrom(crowd...)
		s := start(t, n, st.answer, func(o *Options) { o.RatePerHost = 10 })
		for _, a := range crowd {
			subscribe(t, s, "svc", a)
		}
		for range 300 { // far more than the rate allows
			st.value.Add(1)
			s.Change(key("svc"))
			time.Sleep(100 * time.Millisecond)
		}
		for _, a := range crowd {
			require.NotEmpty(t, n.to(a), "newcomers come between those that are known to answer")
		}
		time.Sleep(11 * time.Second)
		for _, a := range crowd {
			got := n.to(a)
			require.Equal(t, data(300), got[len(got)-1].push.Data, a)
		}
	})
}
