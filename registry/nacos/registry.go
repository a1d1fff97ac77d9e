package nacos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/registry"
)

// closeTimeout bounds Close (C-R4).
const closeTimeout = 2 * time.Second

// Registry is a [registry.ServiceRegistry] over a Nacos server. It keeps the
// desired state of every registration and restores it whenever the server has
// lost it (C-R5).
type Registry struct {
	client     *nacosclient.Client
	ownClient  bool
	allowShort bool
	// watching is the interval of the watch, 0 where it is off.
	watching time.Duration
	logger   *slog.Logger

	// ctx ends with the registry.
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	slots  map[registry.Key]*slot
	// adopted is who wants to know of adopted changes; telling counts the calls,
	// which are made one at a time.
	adopted  func(registry.Registration)
	telling  sync.WaitGroup
	tellTurn sync.Mutex
}

var (
	_ registry.ServiceRegistry = (*Registry)(nil)
	_ registry.Updater         = (*Registry)(nil)
	_ registry.Watcher         = (*Registry)(nil)
)

// New returns a registry. It does not wait for the network: a server that is
// away is an error of Register.
func New(o Options) (*Registry, error) {
	var watching time.Duration
	if o.Watch.Enabled {
		if watching = cmp.Or(o.Watch.Interval, DefaultWatchInterval); watching < 0 {
			return nil, fmt.Errorf("nacos registry: watch interval %v is negative", watching)
		}
	}
	client, own, err := o.Open(o.Logger)
	if err != nil {
		return nil, fmt.Errorf("nacos registry: %w", err)
	}
	logger := o.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Registry{
		client: client, ownClient: own, allowShort: o.AllowShortBeat, watching: watching, logger: logger,
		ctx: ctx, cancel: cancel, slots: make(map[registry.Key]*slot),
	}, nil
}

// Register implements [registry.ServiceRegistry]. An ephemeral instance beats
// from one interval later on, by preserved.heart.beat.interval of its metadata
// until the server says otherwise. What the server would refuse, and beat times
// that cannot work, are refused before anything changes. To replace a
// registration its beats are stopped first, and begin anew after the call: those
// of the new one where it succeeded, else those of the earlier one. One of the
// other kind is taken out once the new one is registered.
func (r *Registry) Register(ctx context.Context, reg registry.Registration) error {
	reg, key := r.normalize(reg)
	interval, err := r.check(reg)
	if err != nil {
		return fmt.Errorf("register: %w: %w", registry.ErrInvalidRegistration, err)
	}
	ctx, s, leave, err := r.enter(ctx, key)
	if err != nil {
		return fmt.Errorf("register %s: %w", describe(reg), err)
	}
	defer leave()
	old := r.release(ctx, s)
	if err := r.replace(ctx, old, reg); err != nil {
		if old != nil {
			back := old.again(r)
			back.failed(err)
			err = errors.Join(err, r.keep(s, back))
		}
		return fmt.Errorf("register %s: %w", describe(reg), err)
	}
	if err := r.keep(s, newKeeper(r, s, key, reg, interval)); err != nil {
		return fmt.Errorf("register %s: %w", describe(reg), err)
	}
	return nil
}

// replace registers reg in the place of old, which may be nil.
func (r *Registry) replace(ctx context.Context, old *keeper, reg registry.Registration) error {
	if err := r.client.Register(ctx, reg); err != nil {
		return refused(r.explain(err))
	}
	if old == nil || old.wanted().Ephemeral == reg.Ephemeral {
		return nil
	}
	// The server keeps the two kinds apart; the old one would stay. It goes last,
	// so that a registry that takes only one of them still has one.
	if err := r.client.Deregister(ctx, old.wanted()); err != nil {
		err = fmt.Errorf("take out its other kind: %w", r.explain(err))
		if back := r.client.Deregister(ctx, reg); back != nil {
			err = fmt.Errorf("%w; and take the new one back: %w", err, back)
		}
		return err
	}
	return nil
}

// check refuses what the server would refuse, and returns the beat interval.
func (r *Registry) check(reg registry.Registration) (interval time.Duration, err error) {
	if err := r.client.Check(reg); err != nil {
		return 0, err
	}
	if !reg.Ephemeral {
		return 0, nil
	}
	if interval, err = beatInterval(reg.Metadata, r.allowShort); err != nil {
		return 0, fmt.Errorf("%s: %w", describe(reg), err)
	}
	return interval, nil
}

// Update implements [registry.Updater] by one update of the whole instance; the
// beats go on. A registration of the other kind is refused: it is registered
// again instead.
func (r *Registry) Update(ctx context.Context, reg registry.Registration) error {
	reg, key := r.normalize(reg)
	interval, err := r.check(reg)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	ctx, s, leave, err := r.enter(ctx, key)
	if err != nil {
		return fmt.Errorf("update %s: %w", describe(reg), err)
	}
	defer leave()
	if s.kept == nil {
		return fmt.Errorf("update %s: %w", describe(reg), registry.ErrNotFound)
	}
	old := s.kept.wanted()
	if old.Ephemeral != reg.Ephemeral {
		return fmt.Errorf("update %s: an ephemeral instance does not become a persistent one, or the reverse, by an update", describe(reg))
	}
	if err := r.client.Update(ctx, reg); err != nil {
		s.kept.failed(err)
		return fmt.Errorf("update %s: %w", describe(reg), r.explain(err))
	}
	s.kept.want(reg)
	if old.Metadata[registry.MetadataBeatInterval] != reg.Metadata[registry.MetadataBeatInterval] {
		s.kept.pace(interval)
	}
	return nil
}

// Deregister implements [registry.ServiceRegistry]. The instance is taken out as
// the kind it was registered as (client case 23), on another server where one
// fails (C-R8).
func (r *Registry) Deregister(ctx context.Context, reg registry.Registration) error {
	reg, key := r.normalize(reg)
	ctx, s, leave, err := r.enter(ctx, key)
	if err != nil {
		return fmt.Errorf("deregister %s: %w", describe(reg), err)
	}
	defer leave()
	if old := r.release(ctx, s); old != nil {
		reg = old.wanted()
	}
	if err := r.client.Deregister(ctx, reg); err != nil {
		return fmt.Errorf("deregister %s: %w", describe(reg), r.explain(err))
	}
	return nil
}

// SetStatus implements [registry.ServiceRegistry] by an update of the whole
// instance with the enabled flag.
func (r *Registry) SetStatus(ctx context.Context, reg registry.Registration, status registry.Status) error {
	reg, key := r.normalize(reg)
	if status != registry.StatusUp && status != registry.StatusDown {
		return fmt.Errorf("set status %q: %w", status, registry.ErrUnknownStatus)
	}
	ctx, s, leave, err := r.enter(ctx, key)
	if err != nil {
		return fmt.Errorf("set status of %s: %w", describe(reg), err)
	}
	defer leave()
	if s.kept == nil {
		return fmt.Errorf("set status of %s: %w", describe(reg), registry.ErrNotFound)
	}
	desired := s.kept.wanted()
	desired.Enabled = status == registry.StatusUp
	if err := r.client.Update(ctx, desired); err != nil {
		s.kept.failed(err)
		return fmt.Errorf("set status of %s: %w", describe(reg), r.explain(err))
	}
	s.kept.want(desired)
	return nil
}

// Status implements [registry.ServiceRegistry] from the desired state, without
// asking the server.
func (r *Registry) Status(_ context.Context, reg registry.Registration) (registry.Status, error) {
	reg, key := r.normalize(reg)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return "", fmt.Errorf("status of %s: %w", describe(reg), registry.ErrClosed)
	}
	s := r.slots[key]
	switch {
	case s == nil || s.kept == nil:
		return "", fmt.Errorf("status of %s: %w", describe(reg), registry.ErrNotFound)
	case s.kept.wanted().Enabled:
		return registry.StatusUp, nil
	}
	return registry.StatusDown, nil
}

// Beats returns the state of the beats of every registration, sorted by service
// and address. After Close it is empty.
func (r *Registry) Beats() []BeatState {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	var states []BeatState
	for _, s := range r.slots {
		if s.kept != nil {
			states = append(states, s.kept.beatState())
		}
	}
	slices.SortFunc(states, func(a, b BeatState) int { return strings.Compare(sortKey(a.Key), sortKey(b.Key)) })
	return states
}

func sortKey(k registry.Key) string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%05d", k.Service, k.Cluster, k.IP, k.Port)
}

// Close implements [registry.ServiceRegistry]: it ends calls and beats, without
// deregistering. The error names the registrations whose beats did not end in
// time.
func (r *Registry) Close() error {
	limit, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	r.mu.Lock()
	r.closed = true
	var kept []*keeper
	for _, s := range r.slots {
		if s.kept != nil {
			kept = append(kept, s.kept)
		}
	}
	r.mu.Unlock()
	r.cancel()

	var errs []error
	if r.ownClient {
		errs = append(errs, r.client.Close())
	}
	for _, k := range kept {
		if !k.join(limit) {
			errs = append(errs, fmt.Errorf("the beats of %s did not end", describe(k.wanted())))
		}
	}
	told := make(chan struct{})
	go func() {
		r.telling.Wait()
		close(told)
	}()
	select {
	case <-told:
	case <-limit.Done():
		errs = append(errs, errors.New("a listener of adopted changes did not end"))
	}
	err := errors.Join(errs...)
	if err != nil {
		return fmt.Errorf("close nacos registry: %w", err)
	}
	return nil
}

// normalize completes what a registration leaves out, so that equal ones have
// equal keys.
func (r *Registry) normalize(reg registry.Registration) (registry.Registration, registry.Key) {
	reg.Instance = reg.Clone()
	reg.Service = r.client.Resolve(reg.Service)
	key := reg.Key()
	reg.IP, reg.Cluster = key.IP, key.Cluster
	return reg, key
}

// explain gives the errors of a closed client or registry their public name.
func (r *Registry) explain(err error) error {
	if errors.Is(err, nacosclient.ErrClosed) || r.ctx.Err() != nil {
		return fmt.Errorf("%w: %w", registry.ErrClosed, err)
	}
	return err
}

// refused marks an answer that will be the same next time: what was sent is
// wrong, or of a kind that the registry does not offer.
func refused(err error) error {
	var answer *nacosclient.Error
	if errors.As(err, &answer) && (answer.Status == http.StatusBadRequest || answer.Status == http.StatusNotImplemented) {
		return fmt.Errorf("%w: %w", registry.ErrInvalidRegistration, err)
	}
	return err
}

func describe(reg registry.Registration) string {
	return reg.Address() + " of " + reg.Service.String()
}
