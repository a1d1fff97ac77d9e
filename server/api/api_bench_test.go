package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchmarkRequest serves one request again and again, without a socket.
func benchmarkRequest(b *testing.B, f *fixture, method, target string) {
	b.Helper()
	r := httptest.NewRequest(method, target, http.NoBody)
	r.Header.Set("User-Agent", java14)
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		f.engine.ServeHTTP(w, r)
	}
	require.Equal(b, http.StatusOK, w.status)
}

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

func registered(b *testing.B, n int) *fixture {
	f := newFixture(b)
	for i := range n {
		f.want("200 ok", "POST instance", "serviceName", "svc", "ip", fmt.Sprintf("192.0.%d.%d", i/250, i%250), "port", "8080")
	}
	return f
}

// BenchmarkBeat is a light beat of a known instance.
func BenchmarkBeat(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchmarkRequest(b, registered(b, n), "PUT",
				"/v1/ns/instance/beat?app=unknown&serviceName=DEFAULT_GROUP%40%40svc&namespaceId=public&port=8080&clusterName=DEFAULT&ip=192.0.0.0")
		})
	}
}

// BenchmarkList is a poll of a service that has not changed.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchmarkRequest(b, registered(b, n), "GET",
				"/v1/ns/instance/list?app=unknown&healthyOnly=false&namespaceId=public&clientIP=127.0.0.1&serviceName=DEFAULT_GROUP%40%40svc&udpPort=54321&encoding=UTF-8")
		})
	}
}

// BenchmarkRegister replaces a registration among a hundred.
func BenchmarkRegister(b *testing.B) {
	benchmarkRequest(b, registered(b, 100), "POST",
		"/v1/ns/instance?app=unknown&metadata=%7B%22zone%22%3A%22a%22%7D&ip=192.0.0.7&weight=1.0&ephemeral=true&serviceName=DEFAULT_GROUP%40%40svc"+
			"&encoding=UTF-8&groupName=DEFAULT_GROUP&namespaceId=public&port=8080&enable=true&healthy=true&clusterName=DEFAULT")
}
