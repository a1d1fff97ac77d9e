package loadbalance_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery/memory"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

func TestDR1_CandidatesAreThoseOfAPlainCall(t *testing.T) {
	l := having(t, loadbalance.Options{Cluster: "a", PreferSameCluster: true},
		inst(1, in("a")), inst(2, in("b")), inst(3, in("a"), disabled), inst(4, in("a")))
	candidates, err := l.Candidates(t.Context(), orders)
	require.NoError(t, err)
	var ips []string
	for _, i := range candidates {
		ips = append(ips, i.IP)
	}
	slices.Sort(ips)
	require.Equal(t, []string{"192.0.2.1", "192.0.2.4"}, ips)

	_, err = having(t, loadbalance.Options{}, inst(1, unhealthy)).Candidates(t.Context(), orders)
	require.ErrorIs(t, err, loadbalance.ErrNoInstance)
	require.NoError(t, l.Close())
	_, err = l.Candidates(t.Context(), orders)
	require.ErrorIs(t, err, loadbalance.ErrClosed)
}

func TestDR1_CandidatesThatAStageRepeatsAreOne(t *testing.T) {
	l := having(t, with(preset("weighted")), inst(1, func(i *registry.Instance) { i.Weight = 5 }), inst(2))
	candidates, err := l.Candidates(t.Context(), orders)
	require.NoError(t, err)
	require.Len(t, candidates, 2)
}

func TestDR11_CallersThatHoldConnectionsGoWhereTheyAreConnected(t *testing.T) {
	for _, name := range []string{"weighted-random", "round-robin", "weighted-round-robin", "least-active", "p2c", "consistent-hash"} {
		l := having(t, with(outlier, func(p *loadbalance.Properties) { p.Algorithm, p.HashKey = name, "cookie:user" }),
			inst(1), inst(2), inst(3))
		asked, connected := []string{}, "192.0.2.2"
		reachable := func(i *registry.Instance) bool {
			asked = append(asked, i.IP)
			return i.IP == connected
		}
		for range 50 {
			asked = asked[:0]
			got, err := l.ChooseFor(t.Context(), loadbalance.Request{Service: orders, Reachable: reachable})
			require.NoError(t, err)
			require.Equal(t, connected, got.Instance.IP, name)
			if asked[0] == connected {
				require.Len(t, asked, 1, "the others are not asked about")
			}
			got.Done(loadbalance.Outcome{StatusCode: 200})
		}
		connected = "nothing"
		_, err := l.ChooseFor(t.Context(), loadbalance.Request{Service: orders, Reachable: reachable})
		require.ErrorIs(t, err, loadbalance.ErrNoInstance)
		state, ok := l.State(orders)
		require.True(t, ok)
		for _, i := range state.Instances {
			require.Zero(t, i.Active, "what was not chosen counts for nothing")
		}
	}
}

func TestDR11_CallersWithLostConnectionsAreAskedAboutTheNextChoice(t *testing.T) {
	l := having(t, loadbalance.Options{Cluster: "a", PreferSameCluster: true}, inst(1, in("a")), inst(2, in("b")), inst(3, in("b")))
	lost, asked, ready := "192.0.2.1", []string{}, ""
	request := loadbalance.Request{
		Service:   orders,
		Reachable: func(i *registry.Instance) bool { asked = append(asked, i.IP); return i.IP == ready },
		Lost:      func(i *registry.Instance) bool { return i.IP == lost || lost == "all" },
	}
	_, err := l.ChooseFor(t.Context(), request)
	require.ErrorIs(t, err, loadbalance.ErrNoInstance)
	require.Equal(t, lost, asked[0])
	require.NotEqual(t, lost, asked[1], "what the call would go to instead")

	ready = "192.0.2.3"
	got, err := l.ChooseFor(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, ready, got.Instance.IP)

	asked, ready, lost = nil, "", "all"
	_, err = l.ChooseFor(t.Context(), request)
	require.ErrorIs(t, err, loadbalance.ErrNoInstance)
	require.Equal(t, []string{"192.0.2.1"}, asked)
}

// An instance may become connected while the choice is made: a call that asked for
// it goes there, and to no other.
func TestDR11_WhatIsConnectedMeanwhileIsNotPassedOver(t *testing.T) {
	l := having(t, with(chain("usable", "hint")), inst(1, meta("hint", "blue")), inst(2, meta("hint", "green")))
	asked := 0
	r := header("X-SC-LB-Hint", "green")
	r.Service = orders
	r.Lost = func(*registry.Instance) bool { return false }
	r.Reachable = func(i *registry.Instance) bool {
		if i.IP != "192.0.2.2" {
			return true
		}
		asked++
		return asked > 2
	}
	got, err := l.ChooseFor(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "192.0.2.2", got.Instance.IP)
	require.Equal(t, 3, asked, "chosen, looked at with the others, looked at again")
}

// After an empty list nobody is a newcomer: there is no one to spare them.
func TestDR16_WhoComesAfterAnEmptyListIsWarm(t *testing.T) {
	s := memory.New()
	l := balancer(t, s, with(func(p *loadbalance.Properties) { p.WarmUp = time.Hour }))
	s.Set(orders, inst(1))
	chosen(t, l)
	s.Set(orders)
	_, err := l.Choose(t.Context(), orders)
	require.ErrorIs(t, err, loadbalance.ErrNoInstance)
	s.Set(orders, inst(2), inst(3))
	chosen(t, l)
	state, _ := l.State(orders)
	require.Equal(t, []float64{1, 1}, []float64{state.Instances[0].EffectiveWeight, state.Instances[1].EffectiveWeight})
}
