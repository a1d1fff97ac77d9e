package static

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// separator stands between group and name.
const separator = "@@"

// cacheFor is long, because a table that is fixed has nothing new to say.
const cacheFor = 5 * time.Minute

// maxWeight is the largest weight a registry accepts.
const maxWeight = 10000

// Source is a [discovery.Source] over a table that never changes. It is safe for
// concurrent use.
type Source struct {
	table  map[key][]registry.Instance
	closed atomic.Bool
}

var _ discovery.Source = (*Source)(nil)

// key is a service of the table; without a group it is in every one.
type key struct{ group, name string }

// New returns a source over a copy of the table. A service is written "name", and
// then answers in every namespace and group, or "GROUP@@name" for one group in
// every namespace. Instances come from [registry.NewInstance] or [ParseInstance];
// their Service is filled in. The error names every wrong entry.
func New(table map[string][]registry.Instance) (*Source, error) {
	s := &Source{table: make(map[key][]registry.Instance, len(table))}
	var errs []error
	for _, service := range slices.Sorted(maps.Keys(table)) {
		k, err := parseKey(service)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for n, i := range table[service] {
			if err := check(i); err != nil {
				errs = append(errs, fmt.Errorf("instance %d of service %q: %w", n, service, err))
			}
			s.table[k] = append(s.table[k], i.Clone())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

func parseKey(service string) (key, error) {
	group, name, joined := strings.Cut(service, separator)
	if !joined {
		group, name = "", service
	}
	if name == "" || joined && group == "" || strings.Contains(name, separator) {
		return key{}, fmt.Errorf("service %q is neither a name nor GROUP@@name", service)
	}
	return key{group, name}, nil
}

func check(i registry.Instance) error {
	var errs []error
	if i.IP == "" || strings.ContainsFunc(i.IP, notHostRune) {
		errs = append(errs, fmt.Errorf("%q is not a host", i.IP))
	}
	if i.Port < 1 || i.Port > math.MaxUint16 {
		errs = append(errs, fmt.Errorf("port %d is not in 1 to 65535", i.Port))
	}
	if !(i.Weight >= 0 && i.Weight <= maxWeight) { // NaN, too
		errs = append(errs, fmt.Errorf("weight %v is not in 0 to %d", i.Weight, maxWeight))
	}
	return errors.Join(errs...)
}

// notHostRune finds what belongs to other parts of a URL, or to none.
func notHostRune(r rune) bool {
	return r <= ' ' || strings.ContainsRune("/?#@\\\"<>", r)
}

// Name implements [discovery.Source].
func (*Source) Name() string { return "static" }

// Fetch implements [discovery.Source].
func (s *Source) Fetch(ctx context.Context, service registry.ServiceID) (discovery.Listing, error) {
	if err := s.usable(ctx); err != nil {
		return discovery.Listing{}, err
	}
	id := service.Normalize()
	fixed, ok := s.table[key{id.Group, id.Name}]
	if !ok {
		fixed = s.table[key{"", id.Name}]
	}
	l := discovery.Listing{Service: id, CacheFor: cacheFor, Instances: make([]registry.Instance, 0, len(fixed))}
	for _, i := range fixed {
		i = i.Clone()
		i.Service = id
		l.Instances = append(l.Instances, i)
	}
	return l, nil
}

// Services implements [discovery.Source].
func (s *Source) Services(ctx context.Context, _, group string) ([]string, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if group == "" {
		group = registry.DefaultGroup
	}
	var names []string
	for k := range s.table {
		if k.group == "" || k.group == group {
			names = append(names, k.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (s *Source) usable(ctx context.Context) error {
	if s.closed.Load() {
		return discovery.ErrClosed
	}
	return ctx.Err()
}

// Close implements [discovery.Source].
func (s *Source) Close() error {
	s.closed.Store(true)
	return nil
}
