package loadbalance

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agnivade/levenshtein"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

const (
	// directoryAge is how long names are used before they are asked for again: an
	// error message must not become load on the registry.
	directoryAge = 30 * time.Second
	// directoryTimeout bounds what an error message may cost its caller.
	directoryTimeout = time.Second
	// maxSimilar is how many names a message lists, maxCompared how many are
	// looked at for it.
	maxSimilar  = 5
	maxCompared = 1000
)

// directory knows which services exist, for the error messages about one that
// does not. It remembers what it was asked last, which is nearly always what it
// is asked next.
type directory struct {
	discovery *discovery.Client

	mu    sync.Mutex
	asked registry.ServiceID
	at    time.Time
	names []string // in asked's namespace and group
	most  []string // like asked's name
}

// similar returns the names most like the service's and how many services there
// are in its group. It returns nothing when that cannot be had at once.
func (d *directory) similar(ctx context.Context, id registry.ServiceID) (most []string, all int) {
	if !d.mu.TryLock() {
		return nil, 0 // someone is asking; this caller has an error to report
	}
	defer d.mu.Unlock()
	if d.refresh(ctx, id) || d.asked != id {
		d.asked, d.most = id, mostSimilar(id.Name, d.names)
	}
	return slices.Clone(d.most), len(d.names)
}

// has reports whether a service is listed. It may wait for the names.
func (d *directory) has(ctx context.Context, id registry.ServiceID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refresh(ctx, id) {
		d.asked, d.most = id, mostSimilar(id.Name, d.names)
	}
	_, found := slices.BinarySearch(d.names, id.Name)
	return found
}

// refresh asks for the names in the service's group unless they are at hand. The
// lock is held.
func (d *directory) refresh(ctx context.Context, id registry.ServiceID) bool {
	if time.Since(d.at) < directoryAge && d.asked.Namespace == id.Namespace && d.asked.Group == id.Group {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	names, err := d.discovery.ServicesIn(ctx, id.Namespace, id.Group)
	if err != nil {
		names = nil // the message lists none, for as long as it would have listed these
	}
	d.names, d.at = names, time.Now()
	return true
}

func mostSimilar(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	lower := strings.ToLower(name)
	candidates := make([]candidate, 0, min(len(names), maxCompared))
	for _, n := range names[:min(len(names), maxCompared)] {
		if n == name {
			continue // it exists, and has no instance
		}
		candidates = append(candidates, candidate{n, levenshtein.ComputeDistance(lower, strings.ToLower(n))})
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	most := make([]string, 0, maxSimilar)
	for _, c := range candidates[:min(len(candidates), maxSimilar)] {
		most = append(most, c.name)
	}
	return most
}
