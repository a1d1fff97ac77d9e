package state

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// fill registers n persistent instances in services of a hundred.
func fill(tb testing.TB, s *State, n int) {
	tb.Helper()
	for i := range n {
		command, err := Encode(&RegisterInstance{Instance: Instance{
			Service:     service(fmt.Sprintf("service-%d", i/100)),
			InstanceKey: InstanceKey{Cluster: "DEFAULT", IP: fmt.Sprintf("192.0.2.%d", i%100), Port: 8080},
			Weight:      1, Enabled: true, Healthy: true,
			Metadata: map[string]string{"version": "1.2.3", "zone": "a", "preserved.register.source": "SPRING_CLOUD"},
		}})
		require.NoError(tb, err)
		_, err = s.Apply(command)
		require.NoError(tb, err)
	}
}

func BenchmarkApply(b *testing.B) {
	s := New()
	fill(b, s, 10_000)
	command, err := Encode(&RegisterInstance{Instance: Instance{
		Service: service("service-7"), InstanceKey: InstanceKey{Cluster: "DEFAULT", IP: "192.0.2.200", Port: 8080},
		Weight: 1, Metadata: map[string]string{"version": "1.2.3", "zone": "a"},
	}})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Apply(command); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRestore_TenThousandInstances(b *testing.B) {
	s := New()
	fill(b, s, 10_000)
	var snapshot bytes.Buffer
	_, err := s.View().WriteTo(&snapshot)
	require.NoError(b, err)
	b.SetBytes(int64(snapshot.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if err := New().Restore(bytes.NewReader(snapshot.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
