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

// BenchmarkDecode is reading one registration from the log.
func BenchmarkDecode(b *testing.B) {
	command, err := Encode(&RegisterInstance{Instance: instance("orders", "192.0.2.1", 80)})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(command); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSB24_ReadingTheDataIsCheap guards how long a start takes by what is exact:
// most of it is reading instances, from a snapshot and from the log.
func TestSB24_ReadingTheDataIsCheap(t *testing.T) {
	const n = 1000
	s := New()
	fill(t, s, n)
	var snapshot bytes.Buffer
	_, err := s.View().WriteTo(&snapshot)
	require.NoError(t, err)
	perInstance := testing.AllocsPerRun(5, func() {
		if err := New().Restore(bytes.NewReader(snapshot.Bytes())); err != nil {
			t.Error(err)
		}
	}) / n
	require.Less(t, perInstance, 12.0, "with encoding/json it is 28")
	command, err := Encode(&RegisterInstance{Instance: instance("orders", "192.0.2.1", 80)})
	require.NoError(t, err)
	perCommand := testing.AllocsPerRun(100, func() {
		if _, err := decode(command); err != nil {
			t.Error(err)
		}
	})
	require.Less(t, perCommand, 10.0, "with encoding/json it is 32")
}
