package interop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/testserver"
)

// nodeSDK is the Node.js client of the Nacos project, in the version that
// test/node/package.json names.
var nodeSDK = client{
	name: "nacos-naming (Node.js)", version: "2.6.3",
	note: "It has no call to update an instance, and ignores empty lists.",
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
