package autoconfig

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// moving is an application in virtual time, between two services of one name:
// "users", and that of group G in namespace dev, with instances in both clusters
// of either.
type moving struct {
	*App
	t        *testing.T
	file     string
	log      *logText
	registry *fakeRegistry
	source   *memory.Source
	client   *discovery.Client
	balancer *loadbalance.LoadBalancer
}

var (
	here  = registry.ServiceID{Name: "users"}.Normalize()
	there = registry.ServiceID{Namespace: "dev", Group: "G", Name: "users"}
)

func startMoving(t *testing.T, opts ...fx.Option) *moving {
	m := &moving{
		t: t, file: filepath.Join(t.TempDir(), "application.yaml"),
		registry: newFakeRegistry(), source: memory.New(),
	}
	m.put(here, "192.0.2.1", "192.0.2.2")
	m.put(there, "192.0.2.3", "192.0.2.4")
	m.write("")
	var log fx.Option
	log, m.log = logTo()
	listener, _ := inMemory(t)
	m.App = start(t, append(opts, ConfigFile(m.file), log, listener, Default("application.reload-on-change", false),
		Default("cloud.nacos.discovery.cluster-name", "A"), Default("cloud.nacos.discovery.port", 7000),
		Backend(m.registry, m.source), fx.Populate(&m.client, &m.balancer))...)
	return m
}

// put sets a service's instances, in clusters A and B.
func (m *moving) put(id registry.ServiceID, inA, inB string) {
	a, b := registry.NewInstance(id, inA, 80), registry.NewInstance(id, inB, 80)
	a.Cluster, b.Cluster = "A", "B"
	m.source.Set(id, a, b)
}

func (m *moving) write(text string) {
	m.t.Helper()
	require.NoError(m.t, os.WriteFile(m.file, []byte(quiet+text), 0o600))
}

func (m *moving) reload(text string) error {
	m.t.Helper()
	m.write(text)
	return m.Reload(m.t.Context())
}

// called returns where a call to users goes.
func (m *moving) called() string {
	m.t.Helper()
	r, err := m.balancer.Choose(m.t.Context(), m.balancer.ID("users"))
	require.NoError(m.t, err)
	return r.Instance.IP
}

const moved = "cloud.nacos.discovery: {namespace: dev, group: G, cluster-name: B}\n"

func TestReload_CallsByNameMoveOnceTheNewInstanceIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMoving(t)
		require.Equal(t, "192.0.2.1", m.called())
		var lists []string
		s, err := m.client.Subscribe(here, func(s *discovery.Snapshot) { lists = append(lists, s.Instances[0].IP) })
		require.NoError(t, err)
		defer s.Close()
		synctest.Wait() // a list that was not delivered yet would give way to the next
		var meant []string
		m.registry.failWith(func() error {
			meant = append(meant, m.called())
			return nil
		})
		require.NoError(t, m.reload(moved))
		require.Equal(t, []string{"192.0.2.1", "192.0.2.4"}, meant, "at registering and at taking out")
		require.Equal(t, there, m.client.ID("users"))
		require.Equal(t, "192.0.2.4", m.called())
		names, err := m.client.Services(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"users"}, names)
		require.NotContains(t, m.log.String(), "restart")

		m.put(here, "192.0.2.5", "192.0.2.6")
		synctest.Wait()
		require.Equal(t, []string{"192.0.2.1", "192.0.2.5"}, lists, "a subscription stays with its service")
		m.registry.failWith(nil)
		require.NoError(t, m.reload(""))
		require.Equal(t, "192.0.2.5", m.called(), "and back")
	})
}

func TestReload_CallsByNameStayWhereTheNewInstanceIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMoving(t)
		m.registry.failWith(func() error { return errors.New("refused") })
		require.ErrorContains(t, m.reload(moved), "refused")
		require.Equal(t, "192.0.2.1", m.called())
		m.registry.failWith(nil)
		require.NoError(t, m.Reload(t.Context()))
		require.Equal(t, "192.0.2.4", m.called(), "the next reload tries again")
	})
}

func TestReload_CallsByNameMoveWithoutARegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMoving(t, Property("cloud.nacos.discovery.register-enabled", false))
		require.Equal(t, "192.0.2.1", m.called())
		require.NoError(t, m.reload("cloud.nacos.discovery: {namespace: dev, group: G, cluster-name: B, weight: 2}\n"))
		require.Equal(t, "192.0.2.4", m.called())
		require.Contains(t, m.log.String(), `applied="cloud.nacos.discovery.namespace, cloud.nacos.discovery.group, cloud.nacos.discovery.cluster-name"`)
		require.Contains(t, m.log.String(), `the part is off" key=cloud.nacos.discovery.weight`)
	})
}

func TestReload_TheZoneOfTheMetadataIsTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMoving(t, Property("cloud.loadbalancer.configurations", loadbalance.StageZone),
			Property("cloud.loadbalancer.min-available", 1))
		require.Equal(t, "192.0.2.1", m.called(), "the zone is the cluster")
		require.NoError(t, m.reload("cloud.nacos.discovery.metadata.zone: b\n"))
		require.Equal(t, "192.0.2.2", m.called())
	})
}

// A change of something else must not undo what the application decided.
func TestReload_ADecoratedClusterStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMoving(t, fx.Decorate(func(o loadbalance.Options) loadbalance.Options {
			o.Cluster = "B"
			return o
		}))
		require.NoError(t, m.reload("cloud.nacos.discovery: {weight: 2, metadata: {colour: red}, group: DEFAULT_GROUP}\n"))
		require.Equal(t, "192.0.2.2", m.called())
	})
}
