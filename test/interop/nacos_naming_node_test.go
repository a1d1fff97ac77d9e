package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// nodeFirstBeat is when the Node.js client looks for instances to beat for the
// first time after its start; from then on it keeps the server's interval.
const nodeFirstBeat = 10 * time.Second

// nodeRetry is how long the Node.js client waits after a beat that failed,
// whatever its interval: one of them may well meet the server while it is down.
const nodeRetry = 5 * time.Second

// nodeVersion is the version of nacos-naming in test/node/package.json.
const nodeVersion = "2.6.3"

var nodeSDK = client{name: "nacos-naming (Node.js)", version: nodeVersion}

// nodeInstance is an instance as the Node.js client takes it. The timeouts let
// it live until that client's first beat and not much longer.
func nodeInstance(port int) map[string]any {
	return map[string]any{
		"ip": "127.0.0.1", "port": port, "weight": 2.5,
		"metadata": map[string]string{
			"version": "1", "note": "a,b=c&d {\"e\"} 100% ü+",
			"preserved.heart.beat.interval": milliseconds(beatInterval),
			"preserved.heart.beat.timeout":  milliseconds(nodeFirstBeat + 2*time.Second),
			"preserved.ip.delete.timeout":   milliseconds(nodeFirstBeat + 3*time.Second),
		},
	}
}

func TestNacosNamingNode_IsTheVersionReported(t *testing.T) {
	t.Parallel()
	needNode(t)
	server := testserver.Start(t, binaries.server)
	var version string
	startNode(t, server).call(t, request{"op": "version"}, &version)
	require.Equal(t, nodeVersion, version)
}

func TestNacosNamingNode_RegistersListsAndDeregisters(t *testing.T) {
	t.Parallel()
	proves(t, nodeSDK, "register with metadata and weight; list; select; server status; deregister")
	needNode(t)
	server := testserver.Start(t, binaries.server)
	node := startNode(t, server)
	node.call(t, request{"op": "register", "service": "orders", "instance": nodeInstance(8001)}, nil)

	host, err := onlyHost(server, "orders")
	require.NoError(t, err, "visible as soon as the register call is answered")
	require.Equal(t, testserver.Host{
		InstanceID: host.InstanceID, IP: "127.0.0.1", Port: 8001, ClusterName: "DEFAULT", Weight: 2.5,
		Healthy: true, Enabled: true, Ephemeral: true,
		Metadata: nodeInstance(8001)["metadata"].(map[string]string),
	}, host)

	var status string
	node.call(t, request{"op": "status"}, &status)
	require.Equal(t, "UP", status)
	for _, op := range []string{"list", "select"} {
		var hosts []testserver.Host
		node.call(t, request{"op": op, "service": "orders"}, &hosts)
		require.Equal(t, []testserver.Host{host}, hosts, op)
	}

	node.call(t, request{"op": "deregister", "service": "orders", "instance": nodeInstance(8001)}, nil)
	requireGone(t, server, "orders", 8001)
}

func TestNacosNamingNode_SubscriberIsToldOfChangesByPush(t *testing.T) {
	t.Parallel()
	proves(t, nodeSDK, "subscribe; changes arrive by UDP push")
	needNode(t)
	server := testserver.Start(t, binaries.server)
	node := startNode(t, server)
	node.call(t, request{"op": "register", "service": "orders", "instance": nodeInstance(8001)}, nil)

	// The subscriber asks at once, a second later and then every ten seconds:
	// of three changes in that time a poll can bring one.
	start := time.Now()
	node.call(t, request{"op": "subscribe", "service": "orders"}, nil)
	node.next(t, slack, 8001)
	node.call(t, request{"op": "register", "service": "orders", "instance": nodeInstance(8002)}, nil)
	node.next(t, slack, 8001, 8002)
	node.call(t, request{"op": "deregister", "service": "orders", "instance": nodeInstance(8001)}, nil)
	node.next(t, slack, 8002)
	node.call(t, request{"op": "register", "service": "orders", "instance": nodeInstance(8003)}, nil)
	node.next(t, slack, 8002, 8003)
	require.Less(t, time.Since(start), pollWithPush, "all of that before the subscriber asks a third time")
}

func TestNacosNamingNode_BeatsKeepItAliveAndBringItBackAfterTheServerLostItsMemory(t *testing.T) {
	t.Parallel()
	proves(t, nodeSDK, "beats past the delete timeout; server restarted with an empty memory; back with its next beat and all it carries")
	needNode(t)
	server := testserver.Start(t, binaries.server)
	node := startNode(t, server)
	node.call(t, request{"op": "register", "service": "orders", "instance": nodeInstance(8001)}, nil)
	registered, err := onlyHost(server, "orders")
	require.NoError(t, err)

	poll.While(t, nodeFirstBeat+3*time.Second+slack, healthy(server, "orders"))

	server.Restart(t)
	took := poll.Until(t, nodeRetry+slack, healthy(server, "orders"))
	t.Logf("back after %v", took)
	host, err := onlyHost(server, "orders")
	require.NoError(t, err)
	require.Equal(t, registered, host)
}
