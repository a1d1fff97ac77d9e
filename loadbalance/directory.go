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
// does not. It remembers the last namespace and group that it was asked about,
// which is nearly always the only one.
type directory struct {
	discovery *discovery.Client

	mu    sync.Mutex
	of    registry.ServiceID // Name is empty
	at    time.Time
	names []string
}

// similar returns the names most like the service's and how many there are. It
// returns nothing when they cannot be had at once.
func (d *directory) similar(ctx context.Context, id registry.ServiceID) (most []string, all int) {
	names := d.in(ctx, registry.ServiceID{Namespace: id.Namespace, Group: id.Group})
	return mostSimilar(id.Name, names), len(names)
}

func (d *directory) in(ctx context.Context, group registry.ServiceID) []string {
	if !d.mu.TryLock() {
		return nil // someone is asking; this caller has an error to report
	}
	defer d.mu.Unlock()
	if d.of == group && time.Since(d.at) < directoryAge {
		return d.names
	}
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	// Without an answer the message lists no names, for as long as it would
	// have listed these.
	names, err := d.discovery.ServicesIn(ctx, group.Namespace, group.Group)
	if err != nil {
		names = nil
	}
	d.of, d.at, d.names = group, time.Now(), names
	return names
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
