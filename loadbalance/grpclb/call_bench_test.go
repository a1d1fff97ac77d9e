package grpclb_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/rollcall-go/rollcall/loadbalance"
)

// BenchmarkCall compares calls over the loopback by name with those by address.
func BenchmarkCall(b *testing.B) {
	s := serve(b, "one")
	p := loadbalance.DefaultProperties()
	p.Outlier.Enabled = true
	direct, err := grpc.NewClient(fmt.Sprintf("passthrough:///127.0.0.1:%d", s.port), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(b, err)
	b.Cleanup(func() { _ = direct.Close() })
	for _, c := range []struct {
		name string
		conn *grpc.ClientConn
	}{
		{"by address", direct},
		{"by name", newFleet(b, loadbalance.Options{}, at(s)).conn(b)},
		{"by name, outlier", newFleet(b, loadbalance.Options{Properties: &p}, at(s)).conn(b)},
	} {
		b.Run(c.name, func(b *testing.B) {
			in, out := wrapperspb.String(""), new(wrapperspb.StringValue)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.conn.Invoke(b.Context(), askMethod, in, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
