package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/internal/process"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// nodeSDK is the Node.js client of the Nacos project, in the version that
// test/node/package.json names.
var nodeSDK = client{
	name: "nacos-naming (Node.js)", version: "2.6.3",
	note: "It has no call to update an instance, and ignores empty lists.",
}

func nodeClient() foreign {
	return foreign{
		client: nodeSDK, says: nodeSDK.version, need: needNode, start: startNode,
		firstBeat: 10 * time.Second, retry: 5 * time.Second, pushed: true,
	}
}

func needNode() error {
	if _, err := exec.LookPath("node"); err != nil {
		return fmt.Errorf("there is no Node.js: %w", err)
	}
	if _, err := os.Stat(filepath.Join("..", "node", "node_modules", "nacos-naming")); err != nil {
		return fmt.Errorf("the Node.js client is not installed: %w", err)
	}
	return nil
}

// node returns a command that runs one of the scripts.
func node(script string, args ...string) *exec.Cmd {
	cmd := exec.Command("node", append([]string{script}, args...)...)
	cmd.Dir = filepath.Join("..", "node")
	return cmd
}

func startNode(t *testing.T, server *testserver.Server, a account) naming {
	t.Helper()
	return startDriver(t, "node", node("client.js", append([]string{server.Addr()}, a.args()...)...))
}

// startNodeApp runs an app with a web server that uses the Node.js client, and
// returns when it has registered and answers.
func startNodeApp(t *testing.T, server *testserver.Server, service string) *app {
	t.Helper()
	a := &app{service: service, port: testserver.FreePort(t)}
	who := nodeClient()
	document, err := json.Marshal(who.instance(a.port))
	require.NoError(t, err)
	a.Process = process.Start(t, service+" on Node.js", node("app.js", server.Addr(), service, string(document)))
	poll.Until(t, registeredWithin, a.answers)
	poll.Until(t, slack, a.registered(server))
	return a
}

func TestNacosNamingNode_SeesThatTheServerIsUp(t *testing.T) {
	t.Parallel()
	proves(t, nodeSDK, "server status")
	needs(t, needNode())
	server := testserver.Start(t, binaries.server)
	var status string
	require.NoError(t, startNode(t, server, account{}).(*driver).call(request{"op": "status"}, &status))
	require.Equal(t, "UP", status)
}
