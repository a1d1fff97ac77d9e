package grpclb_test

import (
	"context"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// retrying is a service config by which gRPC tries a call once more.
const retrying = `{"loadBalancingConfig": [{"rollcall": {}}], "methodConfig": [{"name": [{}], "retryPolicy": {
	"maxAttempts": 2, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`

// stubborn has every call of one caller go to the same instance while it can.
func stubborn() loadbalance.Options {
	p := loadbalance.DefaultProperties()
	p.Configurations = loadbalance.StageSameInstance
	return loadbalance.Options{Properties: &p}
}

// bothAnswer waits until either server has answered a call that the other refused.
func bothAnswer(t *testing.T, conn grpc.ClientConnInterface) {
	t.Helper()
	require.Eventually(t, func() bool {
		two, err := ask(t.Context(), conn, "not one")
		if err != nil || two != "two" {
			return false
		}
		one, err := ask(t.Context(), conn, "not two")
		return err == nil && one == "one"
	}, patience, time.Millisecond)
}

// again is how a caller's own interceptor tries a call once more.
func again(ctx context.Context, method string, in, out any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, in, out, cc, opts...)
	if status.Code(err) == codes.Unavailable {
		err = invoke(ctx, method, in, out, cc, opts...)
	}
	return err
}

func TestDR7_GRPCRetriesGoToAnotherInstance(t *testing.T) {
	one, two := serve(t, "one"), serve(t, "two")
	for name, opt := range map[string]grpc.DialOption{
		"of the service config":  grpc.WithDefaultServiceConfig(retrying),
		"of another interceptor": grpc.WithChainUnaryInterceptor(again),
	} {
		t.Run(name, func(t *testing.T) {
			conn := newFleet(t, stubborn(), at(one), at(two)).conn(t, opt)
			require.Len(t, shares(t, conn, 20), 1)
			bothAnswer(t, conn)
			for range 50 {
				name, err := ask(t.Context(), conn, "not one")
				require.NoError(t, err)
				require.Equal(t, "two", name)
				name, err = ask(t.Context(), conn, "not two")
				require.NoError(t, err)
				require.Equal(t, "one", name)
			}
		})
	}
	t.Run("of a stream", func(t *testing.T) {
		conn := newFleet(t, stubborn(), at(one), at(two)).conn(t, grpc.WithDefaultServiceConfig(retrying))
		bothAnswer(t, conn)
		for range 20 {
			for not, want := range map[string]string{"one": "two", "two": "one"} {
				stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, watchMethod)
				require.NoError(t, err)
				require.NoError(t, stream.SendMsg(wrapperspb.String("not "+not)))
				require.NoError(t, stream.CloseSend())
				answer := new(wrapperspb.StringValue)
				require.NoError(t, stream.RecvMsg(answer))
				require.Equal(t, want, answer.GetValue())
			}
		}
	})
	t.Run("not without others", func(t *testing.T) {
		conn := newFleet(t, stubborn(), at(one)).conn(t, grpc.WithDefaultServiceConfig(retrying))
		_, err := ask(t.Context(), conn, "not one")
		require.Equal(t, codes.Unavailable, status.Code(err))
		name, err := ask(t.Context(), conn, "")
		require.NoError(t, err)
		require.Equal(t, "one", name)
	})
	t.Run("not where that is switched off", func(t *testing.T) {
		o := stubborn()
		o.Properties.Retry.AvoidPreviousInstance = false
		conn := newFleet(t, o, at(one), at(two)).conn(t, grpc.WithDefaultServiceConfig(retrying))
		first, err := ask(t.Context(), conn, "")
		require.NoError(t, err)
		_, err = ask(t.Context(), conn, "not "+first)
		require.Equal(t, codes.Unavailable, status.Code(err))
	})
}

// Another attempt leaves the instance that the call asked for, as over HTTP.
func TestDR7_GRPCRetriesLeaveTheInstanceOfACookie(t *testing.T) {
	p := loadbalance.DefaultProperties()
	p.Configurations = loadbalance.StageSticky
	one, two := serve(t, "one"), serve(t, "two")
	named := func(s *server) registry.Instance { return at(s, func(i *registry.Instance) { i.ID = s.name }) }
	conn := newFleet(t, loadbalance.Options{Properties: &p}, named(one), named(two)).conn(t, grpc.WithDefaultServiceConfig(retrying))
	ctx := withCookie(t.Context(), p.StickySession.InstanceIDCookieName+"=one")
	connected(t, conn, one, two)
	for range 20 {
		name, err := ask(ctx, conn, "")
		require.NoError(t, err)
		require.Equal(t, "one", name)
		name, err = ask(ctx, conn, "not one")
		require.NoError(t, err)
		require.Equal(t, "two", name)
	}
}

func TestDR1_GRPCGoesByTheKindOfAddress(t *testing.T) {
	six := serveOn(t, "six", "[::1]:0")
	p := loadbalance.DefaultProperties()
	p.IPType = loadbalance.IPTypeV6
	// Nothing listens there by IPv4.
	both := registry.NewInstance(users, "127.0.0.1", six.port)
	both.Metadata = map[string]string{registry.MetadataIPv6: "[" + netip.IPv6Loopback().String() + "]", "gRPC_port": strconv.Itoa(six.port)}
	f := newFleet(t, loadbalance.Options{Properties: &p}, both)
	conn := f.conn(t)
	require.Equal(t, map[string]int{"six": 20}, shares(t, conn, 20))

	// Calls go on by the connections there are when the kind changes.
	p.IPType = ""
	require.NoError(t, f.balancer.Reconfigure(p))
	require.Equal(t, map[string]int{"six": 20}, shares(t, conn, 20))
}
