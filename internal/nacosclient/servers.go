package nacosclient

import (
	"slices"
	"sync"
	"time"
)

// penalty is how long a server that failed is asked last (C-R9).
const penalty = 10 * time.Second

// servers is the list of nodes and when each last failed.
type servers struct {
	all  []endpoint
	rand func(n int) int

	mu     sync.Mutex
	failed []time.Time
}

func newServers(all []endpoint, rand func(n int) int) *servers {
	return &servers{all: all, rand: rand, failed: make([]time.Time, len(all))}
}

// order returns every server once, as indexes: from a random start around the
// list, those that failed within the penalty behind the others, the one whose
// failure is longest ago first.
func (s *servers) order(now time.Time) []int {
	order := make([]int, len(s.all))
	start := 0
	if len(order) > 1 {
		start = s.rand(len(order))
	}
	for i := range order {
		order[i] = (start + i) % len(order)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	failure := func(i int) time.Time {
		if now.Sub(s.failed[i]) < penalty {
			return s.failed[i]
		}
		return time.Time{}
	}
	slices.SortStableFunc(order, func(a, b int) int { return failure(a).Compare(failure(b)) })
	return order
}

// report notes how an attempt at a server ended.
func (s *servers) report(i int, ok bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		s.failed[i] = time.Time{}
	} else {
		s.failed[i] = now
	}
}
