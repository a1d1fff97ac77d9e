package grpclb

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// board stands for gRPC: it keeps the listeners of links and the last state.
type board struct {
	conns  map[string]*subConn
	state  balancer.State
	closed bool
}

type subConn struct {
	balancer.SubConn
	listen     func(balancer.SubConnState)
	connects   int
	isShutDown bool
}

func (c *subConn) Connect()  { c.connects++ }
func (c *subConn) Shutdown() { c.isShutDown = true }

func (b *board) NewSubConn(a []resolver.Address, o balancer.NewSubConnOptions) (balancer.SubConn, error) {
	if b.closed {
		return nil, errors.New("closing")
	}
	c := &subConn{listen: o.StateListener}
	b.conns[a[0].Addr] = c
	return c, nil
}

func (b *board) UpdateState(s balancer.State) { b.state = s }

func (b *board) to(address string, s connectivity.State) {
	b.conns[address].listen(balancer.SubConnState{ConnectivityState: s, ConnectionError: errRefused})
}

var errRefused = errors.New("refused")

// bench returns a policy over n instances, their ports from 1 on.
func bench(t testing.TB, o loadbalance.Options, n int) (*policy, *board, *update) {
	t.Helper()
	id := registry.ServiceID{Name: "user-service"}
	s := memory.New()
	for i := range n {
		s.Put(registry.NewInstance(id, "192.0.2.1", i+1))
	}
	client, err := discovery.New(discovery.Options{Sources: []discovery.Source{s}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	o.Discovery = client
	l, err := loadbalance.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	snapshot, err := client.Snapshot(t.Context(), id)
	require.NoError(t, err)
	cc := &board{conns: map[string]*subConn{}}
	b := newPolicy(cc)
	u := &update{life: context.Background(), balancer: l, snapshot: snapshot}
	require.NoError(t, b.UpdateClientConnState(state(u)))
	return b, cc, u
}

func state(u *update) balancer.ClientConnState {
	return balancer.ClientConnState{ResolverState: resolver.State{Attributes: attributes.New(updateKey{}, u)}}
}

func TestStatesOfAConnection(t *testing.T) {
	const one, two = "192.0.2.1:1", "192.0.2.1:2"
	b, cc, u := bench(t, loadbalance.Options{}, 2)
	require.Equal(t, connectivity.Connecting, cc.state.ConnectivityState)
	_, err := cc.state.Picker.Pick(balancer.PickInfo{Ctx: t.Context()})
	require.Equal(t, balancer.ErrNoSubConnAvailable, err)

	for _, step := range []struct {
		address string
		to      connectivity.State
		want    connectivity.State
	}{
		{one, connectivity.Connecting, connectivity.Connecting},
		{one, connectivity.TransientFailure, connectivity.Connecting}, // there is another
		{two, connectivity.Connecting, connectivity.Connecting},
		{two, connectivity.TransientFailure, connectivity.TransientFailure},
		{two, connectivity.Idle, connectivity.TransientFailure}, // attempts go on, and calls do not wait for them
		{two, connectivity.Connecting, connectivity.TransientFailure},
		{two, connectivity.Ready, connectivity.Ready},
		{two, connectivity.Idle, connectivity.Connecting}, // lost
		{two, connectivity.Ready, connectivity.Ready},
	} {
		cc.to(step.address, step.to)
		require.Equal(t, step.want, cc.state.ConnectivityState, "%+v", step)
	}
	require.Equal(t, 1, cc.conns[one].connects)
	require.Equal(t, 3, cc.conns[two].connects, "at first, after the failure, when it was lost")

	picked, err := cc.state.Picker.Pick(balancer.PickInfo{Ctx: t.Context()})
	require.NoError(t, err)
	require.Same(t, cc.conns[two], picked.SubConn)

	b.ResolverError(errRefused)
	require.Equal(t, connectivity.Ready, cc.state.ConnectivityState, "there is a list")
	kept := cc.conns[one]
	require.NoError(t, b.UpdateClientConnState(state(u)))
	require.Same(t, kept, cc.conns[one], "who stays keeps its connection")

	b.Close()
	require.True(t, cc.conns[one].isShutDown)
	require.True(t, cc.conns[two].isShutDown)
	before := cc.state
	cc.to(two, connectivity.Shutdown)
	cc.to(one, connectivity.Ready)
	require.Equal(t, before, cc.state, "nothing is told after the end")
	require.Zero(t, b.count)
	cc.closed = true
	require.NoError(t, b.UpdateClientConnState(state(u)))
}

func TestOutcomesInTheTermsOfHTTP(t *testing.T) {
	for _, c := range []struct {
		name   string
		info   balancer.DoneInfo
		stream bool
		code   int
		err    error
	}{
		{"not called", balancer.DoneInfo{}, false, 0, loadbalance.ErrNotUsed},
		{"answered", balancer.DoneInfo{BytesSent: true, BytesReceived: true}, false, 200, nil},
		{"answered no", balancer.DoneInfo{Err: status.Error(codes.PermissionDenied, ""), BytesSent: true, BytesReceived: true}, false, 403, nil},
		{"too late", balancer.DoneInfo{Err: status.Error(codes.DeadlineExceeded, ""), BytesSent: true}, false, 0, context.DeadlineExceeded},
		{"given up", balancer.DoneInfo{Err: status.Error(codes.Canceled, ""), BytesSent: true}, false, 0, context.Canceled},
		{"broken", balancer.DoneInfo{Err: errRefused, BytesSent: true}, false, 0, errRefused},
		{"too late, says the server", balancer.DoneInfo{Err: status.Error(codes.DeadlineExceeded, ""), BytesSent: true, BytesReceived: true}, false, 0, context.DeadlineExceeded},
		{"end of a stream", balancer.DoneInfo{Err: status.Error(codes.DeadlineExceeded, ""), BytesSent: true, BytesReceived: true}, true, 504, nil},
		{"stream left", balancer.DoneInfo{Err: status.Error(codes.Canceled, ""), BytesSent: true, BytesReceived: true}, true, 499, nil},
	} {
		o := outcomeOf(c.info, c.stream)
		require.Equal(t, c.code, o.StatusCode, c.name)
		require.ErrorIs(t, o.Err, c.err, c.name)
		require.Equal(t, errors.Is(c.err, context.DeadlineExceeded) || errors.Is(c.err, context.Canceled), o.CallerLeft, c.name)
	}
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		got := httpStatus(code)
		require.True(t, got == 200 && code == codes.OK || got >= 400 && got < 600, "%s", code)
	}
}

func tracked() loadbalance.Options {
	p := loadbalance.DefaultProperties()
	p.Outlier.Enabled = true
	return loadbalance.Options{Properties: &p}
}

func TestDR14_GRPCPickAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop what it is given")
	}
	hinted := metadata.AppendToOutgoingContext(t.Context(), "x-user", "7", "traceparent", "00-1-2-01")
	for _, c := range []struct {
		name string
		o    loadbalance.Options
		ctx  context.Context
	}{
		{"default", loadbalance.Options{}, t.Context()},
		{"tracked", tracked(), t.Context()},
		{"metadata that nobody looks at", tracked(), hinted},
	} {
		_, cc, _ := bench(t, c.o, 100)
		for address := range cc.conns {
			cc.to(address, connectivity.Ready)
		}
		info := balancer.PickInfo{Ctx: c.ctx, FullMethodName: "/test.Who/Ask"}
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			picked, err := cc.state.Picker.Pick(info)
			if err != nil {
				t.Error(err)
			}
			if picked.Done != nil {
				picked.Done(balancer.DoneInfo{BytesSent: true, BytesReceived: true})
			}
		}), c.name)
	}
}

// BenchmarkPick picks among 100 instances and ends the call.
func BenchmarkPick(b *testing.B) {
	withMetadata := metadata.AppendToOutgoingContext(context.Background(), "x-user", "7", "traceparent", "00-1-2-01")
	for _, c := range []struct {
		name string
		o    loadbalance.Options
		ctx  context.Context
		down int
	}{
		{"default", loadbalance.Options{}, context.Background(), 0},
		{"outlier", tracked(), context.Background(), 0},
		{"metadata", loadbalance.Options{}, withMetadata, 0},
		{"ten down", loadbalance.Options{}, context.Background(), 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			_, cc, _ := bench(b, c.o, 100)
			for n := range 100 {
				to := connectivity.Ready
				if n < c.down {
					to = connectivity.TransientFailure
				}
				cc.to("192.0.2.1:"+strconv.Itoa(n+1), to)
			}
			info := balancer.PickInfo{Ctx: c.ctx, FullMethodName: "/test.Who/Ask"}
			b.ReportAllocs()
			for b.Loop() {
				picked, err := cc.state.Picker.Pick(info)
				if err != nil {
					b.Fatal(err)
				}
				if picked.Done != nil {
					picked.Done(balancer.DoneInfo{BytesSent: true, BytesReceived: true})
				}
			}
		})
	}
}

// A call fails for want of a connection only when every instance that the chain
// allows was tried.
func TestDR11_GRPCTriesWhatIsNotPreferredOneByOne(t *testing.T) {
	p := loadbalance.DefaultProperties()
	p.Configurations, p.Subset.Size, p.Subset.InstanceID = loadbalance.StageSubset, 1, "me"
	_, cc, _ := bench(t, loadbalance.Options{Properties: &p}, 3)
	asked := func() (addresses []string) {
		for address, conn := range cc.conns {
			if conn.connects > 0 {
				addresses = append(addresses, address)
			}
		}
		return addresses
	}
	pick := func() (balancer.SubConn, error) {
		picked, err := cc.state.Picker.Pick(balancer.PickInfo{Ctx: t.Context()})
		return picked.SubConn, err
	}
	failed := map[string]bool{}
	for n := range 3 {
		require.Len(t, asked(), n+1, "one more than have failed")
		for _, address := range asked() {
			if !failed[address] {
				_, err := pick()
				require.Equal(t, balancer.ErrNoSubConnAvailable, err, "it is being connected")
				failed[address] = true
				cc.to(address, connectivity.Connecting)
				cc.to(address, connectivity.TransientFailure)
				break
			}
		}
		if n < 2 {
			_, err := pick()
			require.Equal(t, balancer.ErrNoSubConnAvailable, err, "there are others")
		}
	}
	_, err := pick()
	require.ErrorContains(t, err, "can be connected")
	require.ErrorIs(t, err, errRefused)
	for address, conn := range cc.conns {
		cc.to(address, connectivity.Ready)
		picked, err := pick()
		require.NoError(t, err)
		require.Same(t, conn, picked)
		cc.to(address, connectivity.TransientFailure)
	}
}
