package loadbalance_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/loadbalance"
)

// Every figure of a probe is the configuration's.
func TestDR5_IntervalsTimeoutAndThresholdsAreKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		l := probing(t, c, two(), func(p *loadbalance.Properties) {
			p.HealthCheck.Interval, p.HealthCheck.Timeout = 10*time.Second, 5*time.Second
			p.HealthCheck.UnhealthyThreshold, p.HealthCheck.HealthyThreshold = 3, 2
		})
		chosen(t, l)
		synctest.Wait()
		require.Len(t, c.take(), 2, "at once")
		c.set(first, 0) // hangs
		for round := range 3 {
			time.Sleep(10*time.Second - time.Millisecond)
			synctest.Wait()
			require.Empty(t, c.take(), "round %d", round)
			time.Sleep(time.Millisecond)
			synctest.Wait()
			require.Len(t, c.take(), 2, "round %d", round)
			require.Equal(t, "12", keys(chosen(t, l)), "round %d", round)
		}
		time.Sleep(4999 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, "12", keys(chosen(t, l)), "the third probe has not failed yet")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, "2", keys(chosen(t, l)), "it has after its five seconds")
		c.set(first, 200)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Equal(t, "2", keys(chosen(t, l)), "one success is not enough")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, "12", keys(chosen(t, l)))
	})
}

// A verdict needs failures in a row: one success in between begins anew.
func TestDR5_FailuresThatAreNotInARowTakeNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		l := probing(t, c, two())
		chosen(t, l)
		synctest.Wait()
		for range 5 {
			for _, status := range []int{500, 200} {
				c.set(first, status)
				time.Sleep(25 * time.Second)
				synctest.Wait()
				require.Equal(t, "12", keys(chosen(t, l)))
			}
		}
	})
}

// A probe never outlasts the interval: the next one would find it under way.
func TestDR5_TheIntervalBoundsAProbeToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clinic{}
		c.set(first, 0) // hangs
		l := probing(t, c, two(), func(p *loadbalance.Properties) {
			p.HealthCheck.Interval, p.HealthCheck.Timeout, p.HealthCheck.UnhealthyThreshold = time.Second, time.Hour, 1
		})
		chosen(t, l)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "2", keys(chosen(t, l)))
	})
}
