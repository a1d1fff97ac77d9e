package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// Merge says how the answers of several sources become one list.
type Merge string

// The merges.
const (
	// MergeFirstNonEmpty takes the first non-empty answer, in the order of the
	// sources, as Spring's composite client does. It is the default.
	MergeFirstNonEmpty Merge = "first-non-empty"
	// MergeUnion puts all answers together. Of an instance that several sources
	// know, the first one's version counts. A source that fails keeps its share of
	// the list, and the list is stale meanwhile.
	MergeUnion Merge = "union"
)

// maxSources is how many a sourceSet can hold.
const maxSources = 64

// sourceSet is a set of sources by index.
type sourceSet uint64

func (s sourceSet) has(i int) bool       { return s&(1<<i) != 0 }
func (s sourceSet) with(i int) sourceSet { return s | 1<<i }

// answer is what the sources say together.
type answer struct {
	instances []registry.Instance
	cacheFor  time.Duration
	suppliers sourceSet
	origin    string
	// parts are the lists of the single sources where they are united.
	parts [][]registry.Instance
	// partial is why some of the united lists are old, an error or an empty answer
	// that is not believed; nil when none is.
	partial error
}

// ask asks the sources in order; had are those that the list in use came from,
// and parts what they said. protect says that of these an empty answer is not
// believed.
func (c *Client) ask(ctx context.Context, id registry.ServiceID, had sourceSet, parts [][]registry.Instance, protect bool) (answer, error) {
	if c.opt.Merge == MergeUnion {
		return c.askAll(ctx, id, parts, protect)
	}
	return c.askInTurn(ctx, id, had, protect)
}

// askInTurn asks for the first non-empty list.
//
// A failing source is passed over only while it is not the one whose list is in
// use: an outage keeps the old list rather than replace it by a lower source's
// (client rule C-R11). For the same reason an empty answer is believed only when
// every source answered, and is no reason to go on while it is not believed at all
// (client rule C-R14).
func (c *Client) askInTurn(ctx context.Context, id registry.ServiceID, had sourceSet, protect bool) (answer, error) {
	var errs []error
	var empty *answer
	for i, s := range c.opt.Sources {
		l, err := c.askOne(ctx, s, id, len(c.opt.Sources)-i)
		if err != nil {
			errs = append(errs, err)
			if had.has(i) || ctx.Err() != nil {
				break
			}
			continue
		}
		a := answer{instances: l.Instances, cacheFor: l.CacheFor, suppliers: sourceSet(0).with(i), origin: s.Name()}
		if len(l.Instances) > 0 {
			return a, nil
		}
		if empty == nil {
			empty = &a
		}
		if protect && had.has(i) {
			break
		}
	}
	if len(errs) > 0 {
		return answer{}, errors.Join(errs...)
	}
	return *empty, nil
}

// askAll asks every source. The whole is a failure when there is nothing left of
// it: an outage must not pass for an empty service. Where an empty answer is not
// believed, the source keeps its share as well.
func (c *Client) askAll(ctx context.Context, id registry.ServiceID, old [][]registry.Instance, protect bool) (answer, error) {
	a := answer{parts: make([][]registry.Instance, len(c.opt.Sources))}
	copy(a.parts, old)
	var errs []error
	var held error
	for i, s := range c.opt.Sources {
		l, err := c.askOne(ctx, s, id, len(c.opt.Sources)-i)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if protect && len(l.Instances) == 0 && len(a.parts[i]) > 0 {
			held = ErrProtected
		} else {
			a.parts[i] = l.Instances
		}
		if l.CacheFor > 0 && (a.cacheFor == 0 || l.CacheFor < a.cacheFor) {
			a.cacheFor = l.CacheFor
		}
	}
	var names []string
	for i, part := range a.parts {
		if len(part) > 0 {
			a.suppliers = a.suppliers.with(i)
			names = append(names, c.opt.Sources[i].Name())
		}
	}
	a.instances, a.origin = slices.Concat(a.parts...), strings.Join(names, "+")
	a.partial = errors.Join(append(errs, held)...)
	if len(errs) == len(c.opt.Sources) || a.partial != nil && len(a.instances) == 0 {
		return answer{}, a.partial
	}
	return a, nil
}

// askOne fetches from one source and leaves the others that are still to be
// asked their share of the time: one that never answers must not be taken for
// all.
func (c *Client) askOne(ctx context.Context, s Source, id registry.ServiceID, left int) (Listing, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	l, err := s.Fetch(ctx, id)
	c.metrics.fetched(s.Name(), len(l.Instances), err)
	if err != nil {
		return Listing{}, fmt.Errorf("fetch from %s: %w", s.Name(), err)
	}
	return l, nil
}
