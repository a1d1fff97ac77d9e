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

// Defaults of the parts of [Options].
const (
	DefaultEmptyProtectionTTL = 5 * time.Minute
	DefaultSnapshotMaxAge     = 24 * time.Hour
	DefaultHeartbeatDelay     = 30 * time.Second
	DefaultMaxUnknown         = 1000
)

// EmptyProtection keeps the last list of a service whose source answers with an
// empty one, as a registry does that was restarted and has not heard of its
// instances yet (client rule C-R14). It is off by default, since it also hides for
// that time that the last instance really left. A kept list is stale, with
// [ErrProtected], and counted by a metric.
type EmptyProtection struct {
	// Enabled switches it on.
	Enabled bool
	// TTL is how long empty answers are not believed; 0 is
	// [DefaultEmptyProtectionTTL].
	TTL time.Duration
}

// limit is 0 when the protection is off.
func (p EmptyProtection) limit() time.Duration {
	if !p.Enabled {
		return 0
	}
	return cmp.Or(p.TTL, DefaultEmptyProtectionTTL)
}

// FailureTolerance says what a caller gets while a service cannot be refreshed:
// the last good list, however old, unless something else is asked for. It is about
// errors only; an empty list is a good one.
type FailureTolerance struct {
	// Disabled makes [Client.Snapshot] an error from the first refresh that fails
	// until one succeeds.
	Disabled bool
	// MaxAge makes it an error once the list is older than this; 0 is no limit.
	MaxAge time.Duration
}

// Disk keeps the lists in files, so that a process that starts while no source
// can be asked has what another one knew (client rule C-R2).
type Disk struct {
	// Dir is the folder of the files; it is made when there is something to write.
	// "" keeps none. [DefaultDir] is where they belong.
	Dir string
	// LoadAtStart uses the files: a service whose first fetch fails gets the list
	// of the disk, stale.
	LoadAtStart bool
	// MaxAge is how old a list may be that is used without failure tolerance; an
	// older one is used only with it. 0 is [DefaultSnapshotMaxAge].
	MaxAge time.Duration
	// Failover watches the failover switch below Dir; see [FailoverSwitch].
	Failover bool
}

// Heartbeat publishes [registry.Heartbeat] events (rule B-R5).
type Heartbeat struct {
	// Enabled switches it on.
	Enabled bool
	// Delay is the time between two looks at the catalogue; 0 is
	// [DefaultHeartbeatDelay].
	Delay time.Duration
}

// Options configures a [Client]. The zero value of every field but Sources is
// usable.
type Options struct {
	// Sources are asked in this order, 64 at most. The client owns them: it closes
	// them when it is closed.
	Sources []Source
	// Merge makes one list of their answers; "" is [MergeFirstNonEmpty].
	Merge Merge
	// Order names the sources that come first, in this order, wherever they are in
	// Sources; the others follow as they are there. It is for sources that were
	// collected, as by [Module].
	Order []string
	// Namespace and Group complete the names given to [Client.ID], until
	// [Client.SetDefaults] says otherwise; "" are the
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
	// FailureTolerance, EmptyProtection and Disk say what becomes of a list when
	// its source fails, when it becomes empty, and when the process ends.
	FailureTolerance FailureTolerance
	EmptyProtection  EmptyProtection
	Disk             Disk
	// MaxUnknown is how many services are kept fresh at most that have no instance
	// and no subscriber, so that callers of made-up names do not become load on the
	// registry for minutes each; 0 is [DefaultMaxUnknown]. Beyond it such a service
	// is asked for with each question.
	MaxUnknown int
	// Publisher receives [registry.InstancesChanged] for every service in use, from
	// one goroutine; nil publishes nothing.
	Publisher registry.Publisher
	// Heartbeat has the catalogue watched; it needs a Publisher.
	Heartbeat Heartbeat
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
		{"failure tolerance max age", o.FailureTolerance.MaxAge},
		{"empty protection TTL", o.EmptyProtection.TTL},
		{"snapshot max age", o.Disk.MaxAge},
		{"heartbeat delay", o.Heartbeat.Delay},
	} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s is negative: %s", d.name, d.value))
		}
	}
	if len(o.Sources) > maxSources {
		errs = append(errs, fmt.Errorf("sources: %d are more than %d", len(o.Sources), maxSources))
	}
	if o.Merge != "" && o.Merge != MergeFirstNonEmpty && o.Merge != MergeUnion {
		errs = append(errs, fmt.Errorf("merge %q is neither %s nor %s", o.Merge, MergeFirstNonEmpty, MergeUnion))
	}
	if o.MaxUnknown < 0 {
		errs = append(errs, fmt.Errorf("max unknown is negative: %d", o.MaxUnknown))
	}
	if o.Disk.Dir == "" && (o.Disk.LoadAtStart || o.Disk.Failover) {
		errs = append(errs, errors.New("lists are to be read from the disk, and no folder is set"))
	}
	if o.Heartbeat.Enabled && o.Publisher == nil {
		errs = append(errs, errors.New("heartbeats are to be published, and there is no publisher"))
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
	o.Disk.MaxAge = cmp.Or(o.Disk.MaxAge, DefaultSnapshotMaxAge)
	o.Heartbeat.Delay = cmp.Or(o.Heartbeat.Delay, DefaultHeartbeatDelay)
	o.MaxUnknown = cmp.Or(o.MaxUnknown, DefaultMaxUnknown)
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
