package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/registry"
)

// Defaults of [Options]; they are those of Nacos' client.
const (
	DefaultMaxBackOff        = 60 * time.Second
	DefaultFirstFetchTimeout = 5 * time.Second
)

// Options configures a [Client]. The zero value of every field but Sources is
// usable.
type Options struct {
	// Sources are asked in this order, and the first non-empty answer counts. The
	// client owns them: it closes them when it is closed.
	Sources []Source
	// Order names the sources that come first, in this order, wherever they are in
	// Sources; the others follow as they are there. It is for sources that were
	// collected, as by [Module].
	Order []string
	// Namespace and Group complete the names given to [Client.ID]; "" are the
	// defaults of package registry.
	Namespace string
	Group     string
	// RefreshInterval is the time between two fetches of a service; 0 follows what
	// the source asks for with each answer.
	RefreshInterval time.Duration
	// MaxBackOff bounds the pause between fetches while they fail; 0 is
	// [DefaultMaxBackOff].
	MaxBackOff time.Duration
	// FirstFetchTimeout bounds the fetch that the first caller of a service waits
	// for; 0 is [DefaultFirstFetchTimeout].
	FirstFetchTimeout time.Duration
	// Logger receives one line when a service becomes stale and one when it is
	// well again; nil discards.
	Logger *slog.Logger
	// Registerer receives the client's metrics until it is closed; nil means none.
	Registerer prometheus.Registerer
	// Rand returns a uniform number in [0, 1) and is safe for concurrent use; nil
	// is math/rand/v2's.
	Rand func() float64
}

// Validate reports everything that is wrong, in one joined error.
func (o Options) Validate() error {
	var errs []error
	if len(o.Sources) == 0 {
		errs = append(errs, errors.New("sources: at least one is needed"))
	}
	for i, s := range o.Sources {
		if s == nil {
			errs = append(errs, fmt.Errorf("sources[%d] is nil", i))
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"refresh interval", o.RefreshInterval},
		{"max back-off", o.MaxBackOff},
		{"first fetch timeout", o.FirstFetchTimeout},
	} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s is negative: %s", d.name, d.value))
		}
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	id := registry.ServiceID{Namespace: o.Namespace, Group: o.Group}.Normalize()
	o.Namespace, o.Group = id.Namespace, id.Group
	o.Sources = inOrder(o.Sources, o.Order)
	if o.MaxBackOff == 0 {
		o.MaxBackOff = DefaultMaxBackOff
	}
	if o.FirstFetchTimeout == 0 {
		o.FirstFetchTimeout = DefaultFirstFetchTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o
}

// inOrder returns the sources with those that order names in front.
func inOrder(sources []Source, order []string) []Source {
	rank := func(s Source) int {
		if i := slices.Index(order, s.Name()); i >= 0 {
			return i
		}
		return len(order)
	}
	sources = slices.Clone(sources)
	slices.SortStableFunc(sources, func(a, b Source) int { return cmp.Compare(rank(a), rank(b)) })
	return sources
}
