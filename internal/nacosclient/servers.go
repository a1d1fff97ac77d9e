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
	rand func(n int) int

	mu sync.Mutex
	// all is replaced, never changed in place.
	all []endpoint
	// failed is by base address, so that it outlives a new list.
	failed map[string]time.Time
}

func newServers(all []endpoint, rand func(n int) int) *servers {
	return &servers{all: all, rand: rand, failed: make(map[string]time.Time)}
}

// list returns the servers; shared, not to be changed.
func (s *servers) list() []endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// replace takes over a new list and reports whether it is another one.
func (s *servers) replace(all []endpoint) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(s.all, all) {
		return false
	}
	s.all = all
	failed := make(map[string]time.Time)
	for _, e := range all {
		if at, ok := s.failed[e.base]; ok {
			failed[e.base] = at
		}
	}
	s.failed = failed
	return true
}

// order returns every server once: from a random start around the list, those
// that failed within the penalty behind the others, the one whose failure is
// longest ago first.
func (s *servers) order(now time.Time) []endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	start := 0
	if len(s.all) > 1 {
		start = s.rand(len(s.all))
	}
	order := slices.Concat(s.all[start:], s.all[:start])
	failure := func(e endpoint) time.Time {
		if at := s.failed[e.base]; now.Sub(at) < penalty {
			return at
		}
		return time.Time{}
	}
	slices.SortStableFunc(order, func(a, b endpoint) int { return failure(a).Compare(failure(b)) })
	return order
}

// report notes how an attempt at a server ended.
func (s *servers) report(e endpoint, ok bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		delete(s.failed, e.base)
	} else {
		s.failed[e.base] = now
	}
}
