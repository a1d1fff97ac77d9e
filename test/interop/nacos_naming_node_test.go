package interop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/testserver"
)

// nodeSDK is the Node.js client of the Nacos project, in the version that
// test/node/package.json names. It has no way to update an instance, and takes
// an empty list for a fault of the server.
var nodeSDK = client{name: "nacos-naming (Node.js)", version: "2.6.3"}

func TestNacosNamingNode_SeesThatTheServerIsUp(t *testing.T) {
	t.Parallel()
	proves(t, nodeSDK, "server status")
	needs(t, needNode())
	server := testserver.Start(t, binaries.server)
	var status string
	require.NoError(t, startNode(t, server, account{}).(*driver).call(request{"op": "status"}, &status))
	require.Equal(t, "UP", status)
}
