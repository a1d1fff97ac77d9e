package grpclb_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/loadbalance/grpclb"
	"github.com/rollcall-go/rollcall/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var users = registry.ServiceID{Name: "user-service"}.Normalize()

// patience is how long something may take that is certain to happen.
const patience = time.Minute

const (
	askMethod   = "/test.Who/Ask"
	watchMethod = "/test.Who/Watch"
)

// server is a real gRPC server that answers with its name.
type server struct {
	*grpc.Server
	name     string
	port     int
	health   *health.Server
	calls    atomic.Int64
	accepted atomic.Int64
	open     atomic.Int64  // connections now
	hanging  chan struct{} // told of each call that hangs
}

// serve starts one on a free port of the loopback.
func serve(t testing.TB, name string) *server {
	t.Helper()
	return serveOn(t, name, "127.0.0.1:0")
}

func serveOn(t testing.TB, name, address string) *server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	s := &server{Server: grpc.NewServer(), name: name, port: l.Addr().(*net.TCPAddr).Port, health: health.NewServer(), hanging: make(chan struct{}, 1)}
	s.RegisterService(&who, s)
	healthpb.RegisterHealthServer(s, s.health)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(counting{l, s})
	}()
	t.Cleanup(func() {
		s.Stop()
		<-ended
	})
	return s
}

// counting counts the connections that a server accepts, and those that are open.
type counting struct {
	net.Listener
	server *server
}

func (c counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.server.accepted.Add(1)
	c.server.open.Add(1)
	return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { c.server.open.Add(-1) })}, nil
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// answer does what the question says.
func (s *server) answer(ctx context.Context, question string) (*wrapperspb.StringValue, error) {
	s.calls.Add(1)
	switch question {
	case "hang":
		s.hanging <- struct{}{}
		fallthrough
	case "slower":
		<-ctx.Done()
		return nil, ctx.Err()
	case "not found":
		return nil, status.Error(codes.NotFound, "there is none")
	case "not " + s.name:
		return nil, status.Error(codes.Unavailable, "anyone but me")
	case "slow":
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return wrapperspb.String(s.name), nil
}

var who = grpc.ServiceDesc{
	ServiceName: "test.Who",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Ask", Handler: func(srv any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := new(wrapperspb.StringValue)
		if err := dec(in); err != nil {
			return nil, err
		}
		return srv.(*server).answer(ctx, in.GetValue())
	}}},
	Streams: []grpc.StreamDesc{{StreamName: "Watch", ServerStreams: true, ClientStreams: true, Handler: func(srv any, stream grpc.ServerStream) error {
		for {
			in := new(wrapperspb.StringValue)
			if err := stream.RecvMsg(in); err != nil {
				return nil
			}
			out, err := srv.(*server).answer(stream.Context(), in.GetValue())
			if err != nil {
				return err
			}
			if err := stream.SendMsg(out); err != nil {
				return err
			}
		}
	}}},
}

// at is an instance that serves gRPC at a server's port and something else at
// another.
func at(s *server, edits ...func(*registry.Instance)) registry.Instance {
	i := registry.NewInstance(users, "127.0.0.1", 1)
	i.Metadata = map[string]string{grpclb.MetadataPort: strconv.Itoa(s.port)}
	// Instances differ by their own port.
	i.Port = s.port%30000 + 1
	for _, edit := range edits {
		edit(&i)
	}
	return i
}

func withCookie(ctx context.Context, cookie string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "cookie", cookie)
}

func weight(w float64) func(*registry.Instance) {
	return func(i *registry.Instance) { i.Weight = w }
}

func cluster(name string) func(*registry.Instance) {
	return func(i *registry.Instance) { i.Cluster = name }
}

// source is a memory source that can be down.
type source struct {
	*memory.Source
	mu  sync.Mutex
	err error
}

var errDown = errors.New("the registry is down")

func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *source) Fetch(ctx context.Context, id registry.ServiceID) (discovery.Listing, error) {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return discovery.Listing{}, err
	}
	l, err := s.Source.Fetch(ctx, id)
	l.CacheFor = 20 * time.Millisecond
	return l, err
}

// fleet is a catalogue with a balancer over it.
type fleet struct {
	*source
	balancer *loadbalance.LoadBalancer
}

func newFleet(t testing.TB, o loadbalance.Options, instances ...registry.Instance) *fleet {
	t.Helper()
	f := &fleet{source: &source{Source: memory.New()}}
	f.Set(users, instances...)
	client, err := discovery.New(discovery.Options{Sources: []discovery.Source{f.source}, RefreshInterval: 20 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	o.Discovery = client
	f.balancer, err = loadbalance.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.balancer.Close()) })
	return f
}

// conn returns a connection to user-service.
func (f *fleet) conn(t testing.TB, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpclb.NewClient(f.balancer, users.Name, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ask makes one call.
func ask(ctx context.Context, conn grpc.ClientConnInterface, question string, opts ...grpc.CallOption) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out := new(wrapperspb.StringValue)
	err := conn.Invoke(ctx, askMethod, wrapperspb.String(question), out, opts...)
	return out.GetValue(), err
}

// shares makes calls and counts who answered.
func shares(t *testing.T, conn grpc.ClientConnInterface, calls int) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for range calls {
		name, err := ask(t.Context(), conn, "")
		require.NoError(t, err)
		counts[name]++
	}
	return counts
}

// connected waits until all of these servers answer.
func connected(t *testing.T, conn grpc.ClientConnInterface, servers ...*server) {
	t.Helper()
	require.Eventually(t, func() bool {
		counts := shares(t, conn, 30)
		for _, s := range servers {
			if counts[s.name] == 0 {
				return false
			}
		}
		return true
	}, patience, time.Millisecond)
}
