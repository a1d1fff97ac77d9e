package api

import (
	"hash/maphash"
	"sort"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/server/naming"
)

// walks remembers how far callers have read the list of services who read it page
// by page. Counted from the beginning, the next page would repeat a name when a
// service was added before it meanwhile and leave one out when one was removed;
// it goes on after the last name of the page before instead, so that a walk meets
// every service once that is there all the time (SB-10). Only the page right
// after the one that was asked for last is found so; every other is counted.
//
// What is remembered is a hint of bounded size: without it pages are counted.
// Several goroutines may use walks at the same time.
type walks struct {
	seed maphash.Seed

	mu sync.Mutex
	// Steps move from recent to older when recent is full or a walkTime old, and
	// from there out.
	recent, older map[walk]step
	began         time.Time
}

const (
	// walkTime is how long the next page is waited for, at least.
	walkTime = time.Minute
	maxWalks = 1024
)

// walk tells one caller's reading of one list from others: a hash of both.
type walk uint64

// step is the page that a walk asked for last.
type step struct {
	page int
	last string // the grouped name of its last service
}

func newWalks() *walks { return &walks{seed: maphash.MakeSeed()} }

// of names the walk of a request, by its caller and what it filters by.
func (w *walks) of(c *call, p page, filters ...string) walk {
	var h maphash.Hash
	h.SetSeed(w.seed)
	maphash.WriteComparable(&h, requester(c.request))
	maphash.WriteComparable(&h, p.size)
	_, _ = h.WriteString(c.request.URL.Path)
	for _, name := range filters {
		maphash.WriteComparable(&h, c.Get(name))
	}
	return walk(h.Sum64())
}

// part returns the page's part of services, which are sorted by grouped name.
func (w *walks) part(of walk, p page, services []*naming.Revision) []*naming.Revision {
	from, to := p.of(len(services))
	before, known := w.step(of)
	if known && before.page == p.number-1 {
		from = sort.Search(len(services), func(i int) bool { return services[i].GroupedName() > before.last })
		to = from + min(p.size, len(services)-from)
	}
	if from < to && (known || to < len(services)) { // a list of one page is no walk
		w.remember(of, step{p.number, services[to-1].GroupedName()})
	}
	return services[from:to]
}

func (w *walks) step(of walk) (step, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.age(time.Now())
	s, ok := w.recent[of]
	if !ok {
		s, ok = w.older[of]
	}
	return s, ok
}

func (w *walks) remember(of walk, s step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.recent == nil || len(w.recent) >= maxWalks {
		w.turn(now)
	}
	w.recent[of] = s
}

// age forgets what is too old.
func (w *walks) age(now time.Time) {
	switch since := now.Sub(w.began); {
	case since >= 2*walkTime:
		w.recent, w.older = nil, nil
	case since >= walkTime && w.recent != nil:
		w.turn(now)
	}
}

func (w *walks) turn(now time.Time) {
	w.recent, w.older, w.began = make(map[walk]step), w.recent, now
}
