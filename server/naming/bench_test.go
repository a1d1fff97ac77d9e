package naming

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// filled returns a store with one service of n instances.
func filled(b *testing.B, n int) (*Store, wire.ServiceKey) {
	b.Helper()
	s := newStore(b, Options{})
	k := serviceKey("orders")
	records := make([]Record, n)
	for i := range records {
		records[i] = Record{InstanceKey: nth(i), Healthy: true, Registered: Registered{
			Version: Version{Clock: 1}, Weight: 1, Enabled: true, Metadata: map[string]string{"version": "2"},
		}}
	}
	require.NoError(b, s.Merge(k, records...))
	return s, k
}

func nth(i int) InstanceKey {
	return at(fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255), 8080)
}

// Budget: 0 allocations, below a microsecond whatever the size of the service.
func BenchmarkBeat(b *testing.B) {
	for _, size := range []int{1, 100, 40_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, k := filled(b, size)
			key := nth(size / 2)
			b.ReportAllocs()
			for b.Loop() {
				if r, err := s.Beat(k, key, nil); err != nil || !r.Known {
					b.Fatal(r, err)
				}
			}
		})
	}
}

// Budget: 0 allocations into a reused buffer; the cost is copying the bytes.
func BenchmarkListAnswer(b *testing.B) {
	for _, size := range []int{3, 100, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, k := filled(b, size)
			q := Query{Grouped: true}
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				r, _ := s.Lookup(k)
				buf = r.AppendAnswer(buf[:0], q, 10000, 1614585600000)
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkListEncode(b *testing.B) {
	for _, size := range []int{3, 100, 1000, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, k := filled(b, size)
			r := lookup(b, s, k)
			b.ReportAllocs()
			for b.Loop() {
				r.encode(Query{Grouped: true})
			}
		})
	}
}

// Registering into a service of a given size, and taking out again.
func BenchmarkRegister(b *testing.B) {
	for _, size := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, k := filled(b, size)
			r := registration("172.16.0.1", 0)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r.Port = i % 60_000
				if err := s.Register(k, r); err != nil {
					b.Fatal(err)
				}
				if err := s.Deregister(k, r.InstanceKey); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRegister_Parallel(b *testing.B) {
	s, k := filled(b, 1000)
	b.ReportAllocs()
	b.SetParallelism(32)
	before := s.revisions.Load()
	b.RunParallel(func(pb *testing.PB) {
		r := registration("172.16.0.1", 0)
		for i := 0; pb.Next(); i++ {
			r.Port = i % 1000
			r.Weight = float64(i%2 + 1)
			if err := s.Register(k, r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/float64(s.revisions.Load()-before), "changes/revision")
}

// Publishing a revision that differs in the health of one instance.
func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, k := filled(b, size)
			e, _ := s.entry(k)
			key := nth(size / 2)
			b.ReportAllocs()
			for b.Loop() {
				_ = e.do(func(d *draft) error {
					i, _ := d.ephemeral.get(key)
					d.replace(i, i.withHealth(!i.Healthy))
					return nil
				})
			}
		})
	}
}

func BenchmarkLookup_Among10000Services(b *testing.B) {
	s := newStore(b, Options{})
	for n := range 10_000 {
		require.NoError(b, s.ApplyService(serviceKey(fmt.Sprintf("service-%05d", n)), ServiceInfo{}))
	}
	k := serviceKey("service-07777")
	b.ReportAllocs()
	for b.Loop() {
		s.Lookup(k)
	}
}

// Probes that find nothing new, which nearly all do. Budget: 0 allocations.
func BenchmarkSetPersistentHealth_NoNews(b *testing.B) {
	s := newStore(b, Options{})
	k := serviceKey("orders")
	for n := range 10_000 {
		_, err := s.ApplyPersistent(k, Persistent{Registration: registration("192.0.2.1", n)})
		require.NoError(b, err)
	}
	key := at("192.0.2.1", 5000)
	b.ReportAllocs()
	for b.Loop() {
		s.SetPersistentHealth(k, key, true)
	}
}

// Listing a service that has both kinds: what walking two maps as one costs.
func BenchmarkSelect_BothKinds(b *testing.B) {
	for _, persistent := range []int{0, 500, 1000} {
		b.Run(fmt.Sprint(persistent), func(b *testing.B) {
			s, k := filled(b, 1000-persistent)
			for n := range persistent {
				_, err := s.ApplyPersistent(k, Persistent{Registration: Registration{InstanceKey: nth(n), Weight: 1, Healthy: true}})
				require.NoError(b, err)
			}
			r := lookup(b, s, k)
			b.ReportAllocs()
			for b.Loop() {
				r.Select(Query{})
			}
		})
	}
}

// What a start with 10,000 persistent instances costs here.
func BenchmarkRestoreDurable_10000(b *testing.B) {
	for _, services := range []int{1, 10_000} {
		b.Run(fmt.Sprint(services), func(b *testing.B) {
			state := make(map[wire.ServiceKey]Durable, services)
			for n := range 10_000 {
				k := serviceKey(fmt.Sprintf("service-%05d", n%services))
				d := state[k]
				d.Instances = append(d.Instances, Persistent{Registration: Registration{InstanceKey: nth(n), Weight: 1}, ID: "x"})
				state[k] = d
			}
			b.ReportAllocs()
			for b.Loop() {
				s := New(Options{})
				require.NoError(b, s.RestoreDurable(maps.All(state)))
				require.NoError(b, s.Close())
			}
		})
	}
}

// 100,000 instances in one service, the worst for a reader of snapshots.
func BenchmarkSnapshot_100000(b *testing.B) {
	s, _ := filled(b, 100_000)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Snapshot(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
	var file bytes.Buffer
	_, err := s.Snapshot(&file)
	require.NoError(b, err)
	b.Run("restore", func(b *testing.B) {
		b.SetBytes(int64(file.Len()))
		b.ReportAllocs()
		for b.Loop() {
			again := New(Options{})
			if _, err := again.RestoreSnapshot(bytes.NewReader(file.Bytes())); err != nil {
				b.Fatal(err)
			}
			require.NoError(b, again.Close())
		}
	})
}
