package autoconfig

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

// The new nodes are those of another registry: the instance goes over.
func TestReload_OtherNodesOfAnotherRegistry(t *testing.T) {
	for _, kind := range []string{"ephemeral: true", "ephemeral: false"} {
		t.Run(kind, func(t *testing.T) {
			r := reloadWith(t, "cloud.nacos.discovery."+kind+"\n")
			other := testutil.NewFakeNacos()
			server := httptest.NewServer(other)
			defer server.Close()
			require.NoError(t, r.reload("cloud.nacos.discovery."+kind+"\ncloud.nacos.server-addr: "+server.Listener.Addr().String()+"\n"))
			require.Len(t, other.Instances("public", "DEFAULT_GROUP@@orders"), 1, "registered at once")
			require.Empty(t, r.nacos.Instances("public", "DEFAULT_GROUP@@orders"), "and taken out at the former nodes")
			require.Equal(t, []string{http.MethodDelete}, r.calls())
			stop(t, r.App)
			require.Empty(t, other.Instances("public", "DEFAULT_GROUP@@orders"))
		})
	}
}

// The new nodes are those of the same registry: what was taken out at one is out at
// all of them, and has to come back.
func TestReload_OtherNodesOfTheSameRegistry(t *testing.T) {
	for _, kind := range []string{"ephemeral: true", "ephemeral: false", "instance-enabled: false"} {
		t.Run(kind, func(t *testing.T) {
			r := reloadWith(t, "cloud.nacos.discovery."+kind+"\n")
			second := httptest.NewServer(r.nacos)
			defer second.Close()
			require.NoError(t, r.reload("cloud.nacos.discovery."+kind+"\ncloud.nacos.server-addr: "+second.Listener.Addr().String()+"\n"))
			require.Equal(t, []string{http.MethodPost, http.MethodDelete, http.MethodPost}, r.calls())
			require.NotEmpty(t, r.only("DEFAULT_GROUP@@orders"))
			r.nacos.ForgetRequests()
			// One more node beside a known one is the same registry beyond doubt.
			require.NoError(t, r.reload("cloud.nacos.discovery."+kind+"\ncloud.nacos.server-addr: ["+second.Listener.Addr().String()+", "+r.address+"]\n"))
			require.Equal(t, []string{http.MethodPost}, r.calls())
		})
	}
}

// The former nodes are gone, which is why there are others.
func TestReload_FormerNodesThatAreAway(t *testing.T) {
	r := reloadWith(t, "", Property("cloud.nacos.discovery.naming-request-domain-max-retry-count", 1))
	other := testutil.NewFakeNacos()
	server := httptest.NewServer(other)
	defer server.Close()
	r.nacos.SetFault(testutil.Always(testutil.Fault{Status: http.StatusServiceUnavailable}))
	require.NoError(t, r.reload("cloud.nacos.server-addr: "+server.Listener.Addr().String()+"\n"))
	require.Len(t, other.Instances("public", "DEFAULT_GROUP@@orders"), 1)
	require.Equal(t, 1, r.log.count("may stay at the former nodes of the registry until its beats are missed"))
	require.Contains(t, r.log.String(), "applied=cloud.nacos.server-addr")
}

// The new nodes are away: that is told, and attempts go on until they answer.
func TestReload_OtherNodesThatAreAway(t *testing.T) {
	r := reloadWith(t, "", Property("cloud.nacos.discovery.naming-request-domain-max-retry-count", 1))
	other := testutil.NewFakeNacos()
	server := httptest.NewServer(other)
	defer server.Close()
	away := testutil.Always(testutil.Fault{Status: http.StatusServiceUnavailable})
	other.SetFault(away)
	err := r.reload("cloud.nacos.server-addr: " + server.Listener.Addr().String() + "\n")
	require.ErrorContains(t, err, "the nodes were replaced, but registering there failed")
	require.Contains(t, r.log.String(), "applied=cloud.nacos.server-addr", "the client asks them and nobody else")
	require.Equal(t, registry.StateFailed, r.auto.State())
	require.Error(t, r.auto.LastError())
	other.SetFault(nil)
	require.Eventually(t, func() bool { return r.auto.State() == registry.StateRegistered }, patience, 10*time.Millisecond)
	require.Len(t, other.Instances("public", "DEFAULT_GROUP@@orders"), 1)
	require.Len(t, r.reloader.parts.inside.nacos.registry.Beats(), 1)
}

func TestCase25_AReloadKeepsWhatCustomizersAndCallersChanged(t *testing.T) {
	customizer := fx.Supply(fx.Annotate(registry.Customizer{Name: "git", Customize: func(r *registry.Registration) error {
		r.Metadata["commit"] = "abc"
		return nil
	}}, fx.ResultTags(`group:"registration.customizer"`)))
	r := reloadWith(t, "cloud.nacos.discovery.metadata.zone: a\n", customizer, everything)
	require.NoError(t, r.auto.SetStatus(t.Context(), registry.StatusDown))
	require.NoError(t, r.auto.Update(t.Context(), func(g *registry.Registration) { g.Weight = 7 }))
	require.NoError(t, r.reload("cloud.nacos.discovery: {metadata: {zone: b}, weight: 2}\n"))
	got := r.only("DEFAULT_GROUP@@orders")
	require.Equal(t, map[string]string{"zone": "b", "commit": "abc", "preserved.register.source": "ROLLCALL"}, got.Metadata)
	require.InDelta(t, 7, got.Weight, 0)
	require.False(t, got.Enabled)
	require.Equal(t, 1, r.log.count(`key=cloud.nacos.discovery.weight shadowed-by="change at run time"`))
	require.Contains(t, r.log.String(), `applied=cloud.nacos.discovery.metadata`+"\n")
	_, body := get(t, r.App, "/actuator/configprops")
	properties := tree(t, body)["properties"].(map[string]any)
	require.Equal(t, "change at run time", properties["cloud.nacos.discovery.weight"].(map[string]any)["shadowedBy"])
	require.Equal(t, "change at run time", properties["cloud.nacos.discovery.instance-enabled"].(map[string]any)["shadowedBy"])
	require.NotContains(t, properties["cloud.nacos.discovery.metadata"], "shadowedBy")

	require.NoError(t, r.reload("cloud.nacos.discovery: {metadata: {zone: b, commit: mine}, weight: 7, instance-enabled: false}\n"))
	require.Equal(t, 1, r.log.count(`key=cloud.nacos.discovery.metadata shadowed-by="customizer or hook"`))
	require.Equal(t, "abc", r.only("DEFAULT_GROUP@@orders").Metadata["commit"])
	require.Contains(t, r.log.String(), `applied="cloud.nacos.discovery.weight, cloud.nacos.discovery.instance-enabled"`, "it says what is in effect")
	require.Empty(t, waiting(r), "nothing waits for a restart")

	require.NoError(t, r.reload("cloud.nacos.discovery: {metadata: {zone: b, commit: mine}, weight: 7}\n"))
	require.Equal(t, 1, r.log.count(`key=cloud.nacos.discovery.instance-enabled shadowed-by="change at run time"`))
	require.False(t, r.only("DEFAULT_GROUP@@orders").Enabled)
}
