package discovery_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// Readers, pushes, outages, empty answers, the failover switch, listeners and
// views at the same time: what is handed out never changes, and revisions only
// grow.
func TestCase16_EverythingAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperator(t)
		o.write("orders.json", byHand)
		s := newFake(inst(1), inst(2))
		p := &published{}
		c := o.client(s, func(o *discovery.Options) {
			o.EmptyProtection = discovery.EmptyProtection{Enabled: true, TTL: 20 * time.Second}
			o.Publisher, o.Heartbeat.Enabled = p, true
		})
		snapshot(t, c)
		var all sync.WaitGroup
		stop := make(chan struct{})
		running := func() bool {
			select {
			case <-stop:
				return false
			default:
				return true
			}
		}
		for n := range 8 {
			all.Go(func() {
				var last uint64
				for running() {
					time.Sleep(time.Duration(n+1) * 37 * time.Millisecond)
					got, err := c.Snapshot(t.Context(), orders)
					if err != nil {
						continue // between the operator's list and the sources' first
					}
					if got.Revision < last {
						t.Errorf("revision %d after %d", got.Revision, last)
					}
					last = got.Revision
					if !slices.IsSortedFunc(got.Instances, func(a, b registry.Instance) int { return a.Port - b.Port }) {
						t.Error("not sorted")
					}
					c.State()
				}
			})
		}
		for n := range byte(40) {
			switch n % 5 {
			case 0:
				s.set(inst(n%9), inst(n%7))
			case 1:
				s.push(orders, inst(n%8))
			case 2:
				s.fail(errDown)
			case 3:
				s.set()
			default:
				o.turn(string('0' + n/5%2))
			}
			sub, err := c.Subscribe(orders, func(*discovery.Snapshot) {})
			require.NoError(t, err)
			time.Sleep(3 * time.Second)
			sub.Close()
		}
		close(stop)
		all.Wait()
		require.NotEmpty(t, p.take())
		require.NoError(t, os.Remove(filepath.Join(o.dir, discovery.FailoverDir, discovery.FailoverSwitch)))
		s.set(inst(4))
		after(3 * time.Minute)
		require.Equal(t, []string{inst(4).IP}, addresses(snapshot(t, c)))
		require.NoError(t, c.Close())
	})
}
