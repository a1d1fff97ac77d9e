package grpclb_test

import (
	"context"
	"net/http"
	"sync"
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

// learning records what becomes of calls.
type learning struct {
	loadbalance.Policy
	mu       sync.Mutex
	outcomes []loadbalance.Outcome
}

func (p *learning) Build(instances []*registry.Instance) loadbalance.Picker {
	return learningPicker{p, loadbalance.RoundRobin(nil).Build(instances)}
}

type learningPicker struct {
	*learning
	inner loadbalance.Picker
}

func (p learningPicker) Pick(r *loadbalance.Request) (loadbalance.Result, error) {
	result, err := p.inner.Pick(r)
	result.Done = func(o loadbalance.Outcome) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.outcomes = append(p.outcomes, o)
	}
	return result, err
}

// foreign hides what the policy can beside Policy.
type foreign struct{ *learning }

func (foreign) Name() string { return "learning" }

func (p *learning) last(t *testing.T, n int) loadbalance.Outcome {
	t.Helper()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.outcomes) == n
	}, patience, time.Millisecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outcomes[n-1]
}

func TestDR11_GRPCOutcomesGoBackToThePolicy(t *testing.T) {
	policy := &learning{}
	s := serve(t, "one")
	conn := newFleet(t, loadbalance.Options{Policy: foreign{policy}}, at(s)).conn(t)

	_, err := ask(t.Context(), conn, "")
	require.NoError(t, err)
	o := policy.last(t, 1)
	require.NoError(t, o.Err)
	require.Equal(t, http.StatusOK, o.StatusCode)
	require.Positive(t, o.Latency)

	_, err = ask(t.Context(), conn, "not found")
	require.Equal(t, codes.NotFound, status.Code(err))
	o = policy.last(t, 2)
	require.NoError(t, o.Err, "an answer is an answer, whatever it says")
	require.Equal(t, http.StatusNotFound, o.StatusCode)

	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // enough for the call to begin
	_, err = ask(ctx, conn, "slower")
	cancel()
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	o = policy.last(t, 3)
	require.ErrorIs(t, o.Err, context.DeadlineExceeded)

	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		<-s.hanging
		cancel()
	}()
	_, err = ask(ctx, conn, "hang")
	require.Equal(t, codes.Canceled, status.Code(err))
	o = policy.last(t, 4)
	require.ErrorIs(t, o.Err, context.Canceled)

	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, watchMethod)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, stream.SendMsg(wrapperspb.String("")))
		require.NoError(t, stream.RecvMsg(new(wrapperspb.StringValue)))
	}
	policy.last(t, 4) // not before its end
	require.NoError(t, stream.CloseSend())
	require.Error(t, stream.RecvMsg(new(wrapperspb.StringValue)))
	o = policy.last(t, 5)
	require.NoError(t, o.Err)
	require.Zero(t, o.Latency, "how long a stream lasts says nothing")

	go func() {
		<-s.hanging
		s.Stop()
	}()
	_, err = ask(t.Context(), conn, "hang")
	require.Equal(t, codes.Unavailable, status.Code(err))
	o = policy.last(t, 6)
	require.Error(t, o.Err, "a connection that broke is no answer")
	require.Zero(t, o.StatusCode)
}
