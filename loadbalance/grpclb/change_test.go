package grpclb_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func TestCase19_GRPCInstancesLeaveUnderTrafficWithoutAFailedCall(t *testing.T) {
	one, two, three := serve(t, "one"), serve(t, "two"), serve(t, "three")
	f := newFleet(t, loadbalance.Options{}, at(one), at(two), at(three))
	conn := f.conn(t)
	connected(t, conn, one, two, three)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var calls, failures atomic.Int64
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				calls.Add(1)
				if _, err := ask(t.Context(), conn, "slow"); err != nil {
					failures.Add(1)
					t.Errorf("call failed: %v", err)
				}
			}
		})
	}
	for n := range 10 {
		leaving := []*server{one, two}[n%2]
		staying := []*server{two, one}[n%2]
		f.Set(users, at(three), at(staying))
		before := calls.Load()
		require.Eventually(t, func() bool { return calls.Load() > before+20 }, patience, time.Millisecond)
		// Calls that were on their way come to their end before the connection is closed.
		require.Eventually(t, func() bool { return leaving.open.Load() == 0 }, patience, time.Millisecond)
		served := leaving.calls.Load()
		before = calls.Load()
		require.Eventually(t, func() bool { return calls.Load() > before+20 }, patience, time.Millisecond)
		require.Equal(t, served, leaving.calls.Load(), "who has left is called no more")
		f.Set(users, at(three), at(staying), at(leaving))
		require.Eventually(t, func() bool { return leaving.calls.Load() > served }, patience, time.Millisecond)
	}
	f.Set(users, at(three))
	before := calls.Load()
	require.Eventually(t, func() bool { return calls.Load() > before+20 }, patience, time.Millisecond)
	one.GracefulStop()
	two.GracefulStop()
	before = calls.Load()
	require.Eventually(t, func() bool { return calls.Load() > before+20 }, patience, time.Millisecond)
	stop()
	wg.Wait()
	require.Zero(t, failures.Load(), "of %d calls", calls.Load())
}

// Connections are to those who get traffic, and to nobody else.
func TestGRPCConnectionsOfWhoLeftAreClosed(t *testing.T) {
	one, two, three, four := serve(t, "one"), serve(t, "two"), serve(t, "three"), serve(t, "four")
	off := func(i *registry.Instance) { i.Enabled = false }
	f := newFleet(t, loadbalance.Options{}, at(one), at(two), at(three, weight(0)), at(four, off))
	conn := f.conn(t)
	connected(t, conn, one, two)
	require.Zero(t, three.accepted.Load()+four.accepted.Load())
	for _, gone := range []func(*registry.Instance){weight(0), off} {
		f.Set(users, at(one), at(two, gone))
		require.Eventually(t, func() bool { return two.open.Load() == 0 }, patience, time.Millisecond)
		f.Set(users, at(one), at(two))
		connected(t, conn, one, two)
	}
	f.Set(users, at(one))
	require.Eventually(t, func() bool { return two.open.Load() == 0 }, patience, time.Millisecond)
	require.EqualValues(t, 1, one.open.Load())
	require.Equal(t, map[string]int{"one": 10}, shares(t, conn, 10))
}

func TestGRPCIdleConnectionComesBack(t *testing.T) {
	conn := newFleet(t, loadbalance.Options{}, at(serve(t, "one"))).conn(t, grpc.WithIdleTimeout(10*time.Millisecond))
	for range 3 {
		require.Equal(t, map[string]int{"one": 1}, shares(t, conn, 1))
		require.Eventually(t, func() bool { return conn.GetState() == connectivity.Idle }, patience, time.Millisecond)
	}
}

func TestGRPCServerThatRestartsIsConnectedAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	start := func(l net.Listener) (*grpc.Server, chan struct{}) {
		s := grpc.NewServer()
		s.RegisterService(&who, &server{name: "one"})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.Serve(l)
		}()
		return s, ended
	}
	// The port stays ours while nobody serves at it.
	held, err := l.(*net.TCPListener).File()
	require.NoError(t, err)
	defer held.Close()
	s, ended := start(l)
	conn := newFleet(t, loadbalance.Options{}, registry.NewInstance(users, "127.0.0.1", port)).conn(t)
	require.Equal(t, map[string]int{"one": 1}, shares(t, conn, 1))
	s.Stop()
	<-ended
	l, err = net.FileListener(held)
	require.NoError(t, err)
	s, ended = start(l)
	require.Eventually(t, func() bool {
		name, err := ask(t.Context(), conn, "", grpc.WaitForReady(true))
		return err == nil && name == "one" // the first may notice that the connection is gone
	}, patience, time.Millisecond)
	s.Stop()
	<-ended
}

func TestGRPCBalancerThatIsClosedSaysSo(t *testing.T) {
	f := newFleet(t, loadbalance.Options{}, at(serve(t, "one")))
	conn := f.conn(t)
	connected(t, conn)
	require.NoError(t, f.balancer.Close())
	_, err := ask(t.Context(), conn, "")
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, loadbalance.ErrClosed.Error())
}

func TestGRPCListsChangeWhileCallsGoOn(t *testing.T) {
	var servers []*server
	for _, name := range []string{"one", "two", "three", "four"} {
		servers = append(servers, serve(t, name))
	}
	p := loadbalance.DefaultProperties()
	p.Outlier.Enabled, p.Algorithm = true, loadbalance.PolicyP2C
	f := newFleet(t, loadbalance.Options{Properties: &p}, at(servers[0]), at(servers[1]))
	conns := []*grpc.ClientConn{f.conn(t), f.conn(t)}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for n := range 6 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := ask(t.Context(), conns[n%2], ""); err != nil {
					t.Errorf("call failed: %v", err)
					return
				}
			}
		})
	}
	for n := range 200 {
		f.Set(users, at(servers[n%4]), at(servers[(n+1)%4], weight(float64(1+n%5))))
		_, err := ask(t.Context(), conns[0], "")
		require.NoError(t, err)
		require.NoError(t, f.balancer.Reconfigure(p))
	}
	stop()
	wg.Wait()
	state, ok := f.balancer.State(users)
	require.True(t, ok)
	for _, i := range state.Instances {
		require.Zero(t, i.Active, "every call has ended")
	}
}

// What a chain prefers is only preferred: when none of it can be connected, calls
// go to others, which are connected then.
func TestDR11_GRPCSpillsOverWhenWhatIsPreferredIsDown(t *testing.T) {
	zone := func(name string) func(*registry.Instance) {
		return func(i *registry.Instance) { i.Metadata[loadbalance.MetadataZone] = name }
	}
	for name, c := range map[string]struct {
		edit      func(*loadbalance.Properties)
		near, far func(*registry.Instance)
	}{
		"cluster": {func(*loadbalance.Properties) {}, cluster("a"), cluster("b")},
		"zone": {func(p *loadbalance.Properties) {
			p.Configurations, p.Zone, p.MinAvailable = loadbalance.StageZone, "a", 1
		}, zone("a"), zone("b")},
	} {
		for _, begin := range []bool{true, false} {
			near, far := serve(t, "near"), serve(t, "far")
			p := loadbalance.DefaultProperties()
			c.edit(&p)
			f := newFleet(t, loadbalance.Options{Properties: &p, Cluster: "a"}, at(near, c.near), at(far, c.far))
			conn := f.conn(t)
			if begin {
				require.Equal(t, map[string]int{"near": 20}, shares(t, conn, 20), name)
				require.Zero(t, far.accepted.Load())
			}
			near.Stop() // and the registry goes on listing it
			require.Eventually(t, func() bool {
				who, err := ask(t.Context(), conn, "")
				return err == nil && who == "far" // the first may notice that the connection is gone
			}, patience, time.Millisecond, name)
			require.Equal(t, map[string]int{"far": 20}, shares(t, conn, 20), name)
		}
	}
}
