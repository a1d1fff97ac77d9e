package naming

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// selected returns the ports of a selection.
func selected(r *Revision, q Query) (ports []int, protected bool) {
	hosts, protected := r.Select(q)
	for _, i := range hosts {
		ports = append(ports, i.Port)
	}
	return ports, protected
}

// health registers instances on ports 1, 2, … with the given health.
func health(t *testing.T, s *Store, k wire.ServiceKey, healthy ...bool) {
	t.Helper()
	for n, h := range healthy {
		r := registration("192.0.2.1", n+1)
		r.Healthy = h
		require.NoError(t, s.Register(k, r))
	}
}

func TestSB09_Protection(t *testing.T) {
	for _, c := range []struct {
		name        string
		threshold   float64
		healthy     []bool
		disabled    int // a port
		healthyOnly bool
		want        []int
		protected   bool
	}{
		{"threshold 0, none healthy", 0, []bool{false, false}, 0, false, []int{1, 2}, true},
		{"threshold 0, none healthy, healthy only", 0, []bool{false, false}, 0, true, []int{1, 2}, true},
		{"threshold 0, one healthy", 0, []bool{true, false}, 0, false, []int{2, 1}, false},
		{"threshold 0, one healthy, healthy only", 0, []bool{true, false}, 0, true, []int{1}, false},
		{"equal to the threshold", 0.5, []bool{true, false}, 0, false, []int{1, 2}, true},
		{"four of five at 0.8", 0.8, []bool{true, true, true, true, false}, 0, true, []int{1, 2, 3, 4, 5}, true},
		{"above the threshold", 0.5, []bool{true, true, false}, 0, true, []int{1, 2}, false},
		{"a disabled one counts but is not listed", 0.5, []bool{true, false, true}, 3, true, []int{1}, false},
		{"a disabled one is not listed under protection", 0.8, []bool{true, false, true}, 3, false, []int{1, 2}, true},
		{"all disabled", 0, []bool{true}, 1, false, nil, false},
		{"all healthy at 1", 1, []bool{true, true}, 0, false, []int{1, 2}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t, Options{})
			k := serviceKey("p9")
			require.NoError(t, s.CreateService(k, ServiceInfo{ProtectThreshold: c.threshold}))
			health(t, s, k, c.healthy...)
			if c.disabled > 0 {
				off := false
				require.NoError(t, s.Patch(k, at("192.0.2.1", c.disabled), Patch{Enabled: &off}))
			}
			r := lookup(t, s, k)
			got, protected := selected(r, Query{HealthyOnly: c.healthyOnly})
			require.Equal(t, c.want, got)
			require.Equal(t, c.protected, protected)
			require.Equal(t, c.protected, r.Protected())

			var list wire.ServiceList
			require.NoError(t, json.Unmarshal(r.Answer(Query{HealthyOnly: c.healthyOnly}, 0, 0), &list))
			require.Equal(t, c.protected, list.ReachProtectionThreshold)
			for _, h := range list.Hosts {
				real := instance(t, s, k, at(h.IP, h.Port)).Healthy
				require.Equal(t, c.protected || real, h.Healthy)
				require.Equal(t, h.Healthy, h.Valid)
			}
		})
	}
}

func TestSelect_Clusters(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("clusters")
	for port, cluster := range map[int]string{1: "A", 2: "B", 3: "AA", 4: "DEFAULT"} {
		r := registration("192.0.2.1", port)
		r.Cluster = cluster
		require.NoError(t, s.Register(k, r))
	}
	r := lookup(t, s, k)
	for clusters, want := range map[string][]int{
		"":        {1, 3, 2, 4},
		",":       {1, 3, 2, 4},
		"A":       {1},
		"B,A":     {1, 2},
		"A,A":     {1},
		"A, B":    {1},
		"A,X":     {1},
		"X":       nil,
		"a":       nil,
		"AA":      {3},
		"DEFAULT": {4},
	} {
		got, _ := selected(r, Query{Clusters: clusters})
		require.Equal(t, want, got, "clusters %q", clusters)
	}
	require.Equal(t, []string{"A", "AA", "B", "DEFAULT"}, r.Clusters())
	_, protected := selected(r, Query{Clusters: "X"})
	require.False(t, protected, "nothing selected is nothing to protect")
}

func TestAnswer_AllMembersInTheirOrder(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("orders")
	require.NoError(t, s.Register(k, withMetadata(registration("10.0.0.7", 8080), "version", "2")))
	r := lookup(t, s, k)
	require.Equal(t, `{"hosts":[{"ip":"10.0.0.7","port":8080,"valid":true,"healthy":true,"marked":false,`+
		`"instanceId":"10.0.0.7#8080#DEFAULT#DEFAULT_GROUP@@orders","metadata":{"version":"2"},"enabled":true,"weight":1.0,`+
		`"clusterName":"DEFAULT","serviceName":"DEFAULT_GROUP@@orders","ephemeral":true,`+
		`"instanceHeartBeatInterval":5000,"instanceHeartBeatTimeOut":15000,"ipDeleteTimeout":30000}],`+
		`"dom":"DEFAULT_GROUP@@orders","name":"DEFAULT_GROUP@@orders","cacheMillis":10000,"lastRefTime":1614585600000,`+
		`"checksum":"`+r.Checksum()+`","useSpecifiedURL":false,"clusters":"","env":"","metadata":{},"reachProtectionThreshold":false}`,
		string(r.Answer(Query{Grouped: true}, 10000, 1614585600000)))
}

func TestAnswer_NamesByTheClient(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("orders")
	require.NoError(t, s.Register(k, registration("10.0.0.7", 8080)))
	var list wire.ServiceList
	require.NoError(t, json.Unmarshal(lookup(t, s, k).Answer(Query{Clusters: "DEFAULT,X", Env: "e"}, 3000, 1), &list))
	require.Equal(t, "orders", list.Dom)
	require.Equal(t, "orders", list.Hosts[0].ServiceName)
	require.Equal(t, "DEFAULT_GROUP@@orders", list.Name)
	require.Equal(t, "DEFAULT,X", list.Clusters)
	require.Equal(t, "e", list.Env)
}

func TestAnswer_IsEncodedOncePerRevisionAndShape(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("cached")
	for port := range 100 {
		require.NoError(t, s.Register(k, registration("192.0.2.1", port)))
	}
	r := lookup(t, s, k)
	q := Query{Grouped: true}
	buf := r.AppendAnswer(nil, q, 10000, 1)
	require.Zero(t, testing.AllocsPerRun(100, func() { buf = r.AppendAnswer(buf[:0], q, 10000, 1) }))
}

func TestAnswer_ManyShapesAreAnsweredButNotKept(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("shapes")
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	r := lookup(t, s, k)
	for n := range 10 * maxShapes {
		q := Query{Env: string(rune('A' + n))}
		var list wire.ServiceList
		require.NoError(t, json.Unmarshal(r.Answer(q, 1, 1), &list))
		require.Equal(t, q.Env, list.Env)
	}
	require.Len(t, *r.shared.shapes.Load(), maxShapes)
}

func TestChecksum_DiffersExactlyWhenAReaderSeesADifference(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("sum")
	r := registration("192.0.2.1", 1)
	seen := map[string]string{}
	step := func(name string, change func() error) {
		require.NoError(t, change())
		sum := lookup(t, s, k).Checksum()
		require.Len(t, sum, 32)
		require.NotContains(t, seen, sum, name)
		seen[sum] = name
	}
	off := false
	weight := 2.0
	step("register", func() error { return s.Register(k, r) })
	step("second", func() error { return s.Register(k, registration("192.0.2.1", 2)) })
	step("weight", func() error { return s.Patch(k, r.InstanceKey, Patch{Weight: &weight}) })
	step("health", func() error { return s.Patch(k, r.InstanceKey, Patch{Healthy: &off}) })
	step("enabled", func() error { return s.Patch(k, r.InstanceKey, Patch{Enabled: &off}) })
	step("metadata", func() error { return s.Patch(k, r.InstanceKey, Patch{Metadata: map[string]string{"a": "b"}}) })
	step("service", func() error { return s.UpdateService(k, ServiceInfo{ProtectThreshold: 0.5}) })

	before := lookup(t, s, k).Checksum()
	_, err := s.Beat(k, at("192.0.2.1", 2), nil)
	require.NoError(t, err)
	require.Equal(t, before, lookup(t, s, k).Checksum())
}

func TestSB11_TheAnswerIsAFunctionOfTheState(t *testing.T) {
	a, b := newStore(t, Options{Node: 1}), newStore(t, Options{Node: 2})
	k := serviceKey("same")
	for port := range 300 {
		require.NoError(t, a.Register(k, withMetadata(registration("192.0.2.1", port), "z", "1", "a", "2", "m", "3")))
	}
	for port := 299; port >= 0; port-- {
		require.NoError(t, b.Register(k, withMetadata(registration("192.0.2.1", port), "m", "3", "a", "2", "z", "1")))
	}
	q := Query{Grouped: true}
	require.Empty(t, cmp.Diff(string(lookup(t, a, k).Answer(q, 1, 1)), string(lookup(t, b, k).Answer(q, 1, 1))))
}
