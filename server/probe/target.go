package probe

import (
	"net"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Cluster names the targets that share a checker.
type Cluster struct {
	Service wire.ServiceKey
	Name    string
}

// Target is one instance of a cluster.
type Target struct {
	// IP is the address, bare if it is IPv6, or a host name.
	IP string
	// Port is the instance's port.
	Port int
	// Healthy is what the instance counts as when it is given.
	Healthy bool
}

// Result is a change of health.
type Result struct {
	Cluster Cluster
	// IP and Port are those of the [Target].
	IP   string
	Port int
	// Healthy is what it is now.
	Healthy bool
}

// slowProbe is from when on a probe counts as one that holds up others.
const slowProbe = connectTimeout / 2

type address struct {
	ip   string
	port int
}

// target is a [Target] with its place in the schedule. All fields from healthy
// on are guarded by Prober.mu.
type target struct {
	cluster *cluster
	address address
	dial    string // where it is asked

	healthy    bool
	fails, oks int // in a row

	interval  time.Duration
	scheduled time.Time // when the next probe was put into the heap
	due       time.Time
	index     int  // in the heap, or -1
	slow      bool // the last probe held a worker for long
	gone      bool
}

// cluster is what the targets of a cluster share; it is replaced, never changed,
// when its checker changes.
type cluster struct {
	key       Cluster
	checker   Checker
	checkPort int
	kind      Type
	asker     asker
	targets   map[address]*target
}

func (c *cluster) newTarget(t Target, interval time.Duration) *target {
	port := c.checkPort
	if port == 0 {
		port = t.Port
	}
	return &target{
		cluster:  c,
		address:  address{t.IP, t.Port},
		dial:     net.JoinHostPort(t.IP, strconv.Itoa(port)),
		healthy:  t.Healthy,
		interval: interval,
		index:    -1,
	}
}

// adopt takes over a health that was decided elsewhere.
func (t *target) adopt(healthy bool) {
	if t.healthy != healthy {
		t.healthy = healthy
		t.fails, t.oks = 0, 0
	}
}

// judge counts a verdict and says whether it makes a change: at once or after
// times failures in a row to unhealthy, after times successes in a row to
// healthy.
func (t *target) judge(v verdict, times int) (change bool) {
	times = max(times, 1)
	if v.outcome == succeeded {
		t.fails = 0
		t.oks++
		return !t.healthy && t.oks >= times
	}
	t.oks = 0
	t.fails++
	return t.healthy && (v.atOnce || t.fails >= times)
}

// adapt sets the next interval: a quick target is asked often, one that is dead
// seldom.
func (t *target) adapt(v verdict, took time.Duration, bounds Interval, now time.Time) {
	rt := bounds.Max
	switch {
	case v.outcome == succeeded && t.cluster.kind == TCP:
		// Nacos measures from when the probe was scheduled, so that a TCP interval
		// stays about what it was at random in the beginning.
		rt = now.Sub(t.scheduled)
	case v.outcome == succeeded:
		rt = took
	case !v.atOnce && (v.outcome == timedOut || v.outcome == overloaded):
		rt = 2 * t.interval
	}
	t.interval = bounds.next(t.interval, rt)
	t.slow = took >= slowProbe
}
