package loadbalance

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/rollcall-go/rollcall/registry"
)

// Rand returns a uniform number in [0, 1) and is safe for concurrent use.
type Rand func() float64

func orDefault(r Rand) Rand {
	if r == nil {
		return rand.Float64
	}
	return r
}

// below returns a uniform index in [0, n).
func (r Rand) below(n int) int {
	// The product may round up to n.
	return min(int(r()*float64(n)), n-1)
}

// Names of the policies, as configurations write them (client rule D-R2).
const (
	PolicyWeightedRandom = "weighted-random"
	PolicyRoundRobin     = "round-robin"
	PolicyRandom         = "random"
)

// PolicyByName returns the policy that a configuration names. The empty name is
// [PolicyWeightedRandom]; the error of an unknown one lists those there are. A
// nil rand is math/rand/v2's.
func PolicyByName(name string, rand Rand) (Policy, error) {
	switch name {
	case "", PolicyWeightedRandom:
		return WeightedRandom(rand), nil
	case PolicyRoundRobin:
		return RoundRobin(rand), nil
	case PolicyRandom:
		return Random(rand), nil
	}
	return nil, fmt.Errorf("unknown load balancing policy %q, there are %s, %s and %s",
		name, PolicyWeightedRandom, PolicyRoundRobin, PolicyRandom)
}

// wasTried reports whether an earlier attempt of the call went to the instance.
// The list may have been refreshed in between, so the address counts and not
// the pointer.
func (r *Request) wasTried(i *registry.Instance) bool {
	return slices.ContainsFunc(r.Tried, func(t *registry.Instance) bool {
		return t == i || t.IP == i.IP && t.Port == i.Port && t.Cluster == i.Cluster
	})
}

// none picks nothing.
type none struct{}

func (none) Pick(*Request) (Result, error) { return Result{}, ErrNoInstance }
