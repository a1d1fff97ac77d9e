package discovery_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

const (
	subscribedServices  = 1000
	instancesPerService = 10
	// heapBudget is what 1,000 subscribed services of ten instances may take,
	// stacks of the listeners' goroutines included.
	heapBudget = 20 << 20
)

// inUse returns the heap and stacks in use, in bytes.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// subscribeToMany returns a client that follows many services, each with lists of
// its own, and how much memory that took.
func subscribeToMany(tb testing.TB) (*discovery.Client, int64) {
	tb.Helper()
	s := newFake()
	s.respond(func(_ context.Context, id registry.ServiceID) (discovery.Listing, error) {
		l := discovery.Listing{Service: id}
		for n := range instancesPerService {
			i := registry.NewInstance(id, fmt.Sprintf("192.0.2.%d", n), 8080)
			i.ID = fmt.Sprintf("%s#%d#DEFAULT#%s", i.IP, i.Port, id.Grouped())
			i.Metadata = map[string]string{
				"preserved.register.source": "ROLLCALL", "version": fmt.Sprint("1.2.", n), "zone": fmt.Sprint("zone-", n%3),
			}
			l.Instances = append(l.Instances, i)
		}
		return l, nil
	})
	before := inUse()
	c, err := discovery.New(discovery.Options{Sources: []discovery.Source{s}})
	require.NoError(tb, err)
	told := make(chan struct{}, subscribedServices)
	for n := range subscribedServices {
		_, err := c.Subscribe(registry.ServiceID{Name: fmt.Sprintf("service-%04d", n)}, func(*discovery.Snapshot) { told <- struct{}{} })
		require.NoError(tb, err)
	}
	for range subscribedServices {
		<-told
	}
	return c, inUse() - before
}

func TestMemory_ThousandSubscribedServices(t *testing.T) {
	c, used := subscribeToMany(t)
	t.Logf("%d services of %d instances: %.1f MB", subscribedServices, instancesPerService, float64(used)/(1<<20))
	require.Less(t, used, int64(heapBudget))
	require.Len(t, c.State().Services, subscribedServices)
	require.NoError(t, c.Close())
}

func BenchmarkMemory_ThousandSubscribedServices(b *testing.B) {
	var used int64
	for b.Loop() {
		var c *discovery.Client
		c, used = subscribeToMany(b)
		require.NoError(b, c.Close())
	}
	b.ReportMetric(float64(used), "bytes-in-use")
}
