package state

import (
	"bytes"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func service(name string) wire.ServiceKey {
	return wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "DEFAULT_GROUP", Name: name}}
}

func at(ip string, port int) InstanceKey { return InstanceKey{Cluster: "DEFAULT", IP: ip, Port: port} }

func instance(name, ip string, port int) Instance {
	return Instance{Service: service(name), InstanceKey: at(ip, port), Weight: 1, Enabled: true, Healthy: true}
}

// apply takes a command the way it goes in a server: through its form in the log.
func apply(t require.TestingT, s *State, c Command) (Result, error) {
	encoded, err := Encode(c)
	if err != nil {
		return Result{}, err
	}
	require.NoError(t, s.Check(encoded))
	result, err := s.Apply(encoded)
	return result.(Result), err
}

func must(t require.TestingT, s *State, c Command) Result {
	result, err := apply(t, s, c)
	require.NoError(t, err)
	return result
}

func snapshot(t require.TestingT, s *State) []byte {
	w, err := s.Snapshot()
	require.NoError(t, err)
	var b bytes.Buffer
	n, err := w.WriteTo(&b)
	require.NoError(t, err)
	require.Equal(t, int64(b.Len()), n)
	return b.Bytes()
}
