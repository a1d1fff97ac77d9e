package api

import (
	"fmt"
	"hash/maphash"
	"sort"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/server/naming"
)

// walks remembers how far callers have read a list who read it page by page.
// Counted from the beginning, the next page would repeat a line when one was added
// before it meanwhile and leave one out when one was removed; it goes on after the
// last line of the page before instead, so that a walk meets everything once that
// is there all the time (SB-10). Only the page right after the one that was asked
// for last is found so; every other is counted.
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
	last string // the key of its last line
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

// part returns the page's part of n lines, which are sorted by key.
func (w *walks) part(of walk, p page, n int, key func(i int) string) (from, to int) {
	from, to = p.of(n)
	before, known := w.step(of)
	if known && before.page == p.number-1 {
		from = sort.Search(n, func(i int) bool { return key(i) > before.last })
		to = from + min(p.size, n-from)
	}
	if from < to && (known || to < n) { // a list of one page is no walk
		w.remember(of, step{p.number, key(to - 1)})
	}
	return from, to
}

// services is part of a list of services, sorted by grouped name.
func (w *walks) services(of walk, p page, all []*naming.Revision) []*naming.Revision {
	from, to := w.part(of, p, len(all), func(i int) string { return all[i].GroupedName() })
	return all[from:to]
}

// instances is part of a list of a cluster's instances, sorted by address.
func (w *walks) instances(of walk, p page, all []*naming.Instance) []*naming.Instance {
	from, to := w.part(of, p, len(all), func(i int) string {
		// Between addresses is what none contains, and ports have equal lengths.
		return fmt.Sprintf("%s\x00%05d\x00%t", all[i].IP, all[i].Port, all[i].Ephemeral)
	})
	return all[from:to]
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
