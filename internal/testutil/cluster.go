package testutil

import (
	"fmt"
	"net/http"
	"testing"
)

// Cluster is several [FakeNacos] in memory, each at an address of its own. They
// share nothing.
type Cluster struct {
	Network
	// Addrs, Listeners and Nodes belong together by index.
	Addrs     []string
	Listeners []*Listener
	Nodes     []*FakeNacos
}

// NewCluster starts n servers that run until the test ends; inside a synctest
// bubble t is the bubble's own.
func NewCluster(t testing.TB, n int) *Cluster {
	t.Helper()
	c := &Cluster{}
	for i := range n {
		addr := fmt.Sprintf("192.0.2.%d:8848", i+1)
		l, err := c.Listen(addr)
		if err != nil {
			t.Fatal(err)
		}
		node := NewFakeNacos()
		Serve(t, l, node)
		c.Addrs, c.Listeners, c.Nodes = append(c.Addrs, addr), append(c.Listeners, l), append(c.Nodes, node)
	}
	return c
}

// Transport returns a transport into the cluster.
func (c *Cluster) Transport(t testing.TB) http.RoundTripper { return Transport(t, c.Dial) }

// Requests counts the logged requests of each server.
func (c *Cluster) Requests() []int {
	counts := make([]int, len(c.Nodes))
	for i, node := range c.Nodes {
		counts[i] = len(node.Requests("", ""))
	}
	return counts
}

// ForgetRequests empties the logs.
func (c *Cluster) ForgetRequests() {
	for _, node := range c.Nodes {
		node.ForgetRequests()
	}
}

// Always is a fault for every request, for [FakeNacos.SetFault].
func Always(f Fault) func(Request) *Fault {
	return func(Request) *Fault { return &f }
}
