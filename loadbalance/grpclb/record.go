package grpclb

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/rollcall-go/rollcall/registry"
)

// record is what the picks of one call know of each other, as its context: gRPC
// picks for each attempt, its own retries and those of interceptors of the caller's
// alike, and says of none which it is.
type record struct {
	context.Context
	// stream says that how long the call lasts says nothing about how fast an
	// instance answers.
	stream bool

	mu    sync.Mutex
	tried []*registry.Instance
	room  [2]*registry.Instance // of most calls
}

type recordKey struct{}

// Value implements context.Context.
func (r *record) Value(key any) any {
	if _, ours := key.(recordKey); ours {
		return r
	}
	return r.Context.Value(key)
}

func newRecord(ctx context.Context, stream bool) *record {
	r := &record{Context: ctx, stream: stream}
	r.tried = r.room[:0]
	return r
}

// recordOf returns that of a call; nil where the caller took our interceptors away.
func recordOf(ctx context.Context) *record {
	r, _ := ctx.Value(recordKey{}).(*record)
	return r
}

// before returns where earlier attempts went.
func (r *record) before() []*registry.Instance {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tried
}

// add notes where an attempt goes.
func (r *record) add(i *registry.Instance) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried = append(r.tried, i)
}

func recordCall(
	ctx context.Context, method string, in, out any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	return invoke(newRecord(ctx, false), method, in, out, cc, opts...)
}

func recordStream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return streamer(newRecord(ctx, true), desc, cc, method, opts...)
}
