package loadbalance

import (
	"fmt"
	"math/rand/v2"
	"strings"
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
	PolicyWeightedRandom     = "weighted-random"
	PolicyRoundRobin         = "round-robin"
	PolicyRandom             = "random"
	PolicyWeightedRoundRobin = "weighted-round-robin"
	PolicyLeastActive        = "least-active"
	PolicyP2C                = "p2c"
	PolicyConsistentHash     = "consistent-hash"
)

var policyNames = []string{
	PolicyWeightedRandom, PolicyRoundRobin, PolicyRandom, PolicyWeightedRoundRobin,
	PolicyLeastActive, PolicyP2C, PolicyConsistentHash,
}

// PolicyByName returns the policy that a configuration names. The empty name is
// [PolicyWeightedRandom]; the error of an unknown one lists those there are.
// [PolicyConsistentHash] cannot be had by its name alone, see [ConsistentHash].
// A nil rand is math/rand/v2's.
func PolicyByName(name string, rand Rand) (Policy, error) {
	switch name {
	case "", PolicyWeightedRandom:
		return WeightedRandom(rand), nil
	case PolicyRoundRobin:
		return RoundRobin(rand), nil
	case PolicyRandom:
		return Random(rand), nil
	case PolicyWeightedRoundRobin:
		return WeightedRoundRobin(rand), nil
	case PolicyLeastActive:
		return LeastActive(rand), nil
	case PolicyP2C:
		return P2C(rand), nil
	case PolicyConsistentHash:
		return nil, fmt.Errorf("load balancing policy %q needs a hash key", name)
	}
	last := len(policyNames) - 1
	return nil, fmt.Errorf("unknown load balancing policy %q, there are %s and %s",
		name, strings.Join(policyNames[:last], ", "), policyNames[last])
}
