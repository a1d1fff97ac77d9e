package autoconfig

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/loadbalance"
)

// storeProperties is a user's block with secrets wherever one can be.
type storeProperties struct {
	URL    string
	Extra  map[string]string
	Nested map[string]map[string]any
	Peers  []struct{ Name, Token string }
}

// No answer of the actuator shows a secret, wherever it came from: the keys of the
// application, the metadata of its own instance and of others, answers of the
// registry.
func TestBR6_NoEndpointShowsASecret(t *testing.T) {
	nacos := testutil.NewFakeNacos()
	nacos.RequireLogin("ann", "hunter2", time.Hour)
	nacos.Put("public", "DEFAULT_GROUP@@users", testutil.FakeInstance{
		IP: "127.0.0.9", Port: 1, Healthy: true, Enabled: true, Weight: 2,
		Metadata: map[string]string{"DB_PASSWORD": "hunter2", "dsn": "ann:hunter2@tcp(db)/x", "Secret-Key": "hunter2", "zone": "a"},
	})
	server := httptest.NewServer(nacos)
	defer server.Close()
	var client *discovery.Client
	var balancer *loadbalance.LoadBalancer
	app := start(t, ConfigYAML(quiet+`
cloud.nacos: { username: ann, discovery: { password: hunter2, metadata: { API_TOKEN: hunter2, dsn: 'amqp://ann:hunter2@mq/x' } } }
cloud.discovery.client.simple.instances.bills: [ { uri: 'http://127.0.0.8:2', metadata: { clientSecret: hunter2, url: 'http://ann:hunter2@h' } } ]
app.store:
  url: postgres://ann:hunter2@db:5432/orders
  extra: { api-key: hunter2, link: 'https://h/?token=hunter2' }
  nested: { eu: { password: hunter2, hosts: [ 'ann:hunter2@db' ] } }
  peers: [ { name: bob, token: hunter2 } ]
`), Property("cloud.nacos.server-addr", server.Listener.Addr().String()), everything,
		Properties("app.store", storeProperties{}), fx.Populate(&client, &balancer))
	for _, name := range []string{"users", "bills"} {
		_, err := client.Snapshot(t.Context(), client.ID(name))
		require.NoError(t, err)
		_, err = balancer.Choose(t.Context(), balancer.ID(name))
		require.NoError(t, err)
	}
	for path, shows := range map[string]string{
		"configprops": "postgres://******@db:5432/orders", "nacosdiscovery": "127.0.0.9", "discovery": "127.0.0.8", "loadbalancer": "127.0.0.9",
		"health": "UP", "serviceregistry": "UP", "loggers": "ROOT", "metrics": "go_goroutines", "prometheus": "go_goroutines",
	} {
		_, body := get(t, app, "/actuator/"+path)
		require.Contains(t, body, shows, path)
		require.NotContains(t, body, "hunter2", path)
	}
}
