package nacos

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// DefaultWatchInterval is how often a registration is looked at, see [Watch].
const DefaultWatchInterval = 10 * time.Second

// Watch is about changes that an operator makes of a registration at the
// registry, in its console. Watched ones are adopted: weight and metadata become
// part of the desired state, so that neither a beat nor a re-registration undoes
// them (client case 25). It is off by default, and costs a request per
// registration and interval.
type Watch struct {
	// Enabled switches it on.
	Enabled bool
	// Interval is the time between two looks; 0 is [DefaultWatchInterval].
	Interval time.Duration
}

// Watch implements [registry.Watcher]. Where the option Watch is off f is never
// called.
func (r *Registry) Watch(f func(registry.Registration)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.adopted = f
}

// tell calls whoever wants to know what was adopted, on a goroutine of its own: it
// may call back, and then wait for the end of the very loop that found the change.
func (r *Registry) tell(k *keeper) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.adopted; f != nil && !r.closed {
		r.telling.Go(func() {
			r.tellTurn.Lock() // the newest state is told last
			defer r.tellTurn.Unlock()
			r.mu.Lock()
			stands := !r.closed && k.slot.kept == k
			r.mu.Unlock()
			if stands {
				f(k.wanted())
			}
		})
	}
}

// watcher remembers what it saw of one registration.
type watcher struct {
	// seen is the version of the desired state that the registry was seen to have.
	// A copy that differs from a version not seen yet may be an older one, from a
	// server that lags; it is believed when it is found twice.
	seen uint64
	odd  *edit
}

// edit is what an operator may change and an app adopts. A disabled instance is
// not listed, so that its flag cannot be seen.
type edit struct {
	weight   float64
	metadata map[string]string
	// of is the version it was compared with.
	of uint64
}

func (e edit) equal(f edit) bool {
	return e.of == f.of && e.weight == f.weight && maps.Equal(e.metadata, f.metadata)
}

// watch is the watching loop; it ends with the keeper.
func (k *keeper) watch(ctx context.Context, interval time.Duration) {
	var w watcher
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := k.look(ctx, &w); err != nil && ctx.Err() == nil {
			k.logger.Debug("looking at the registration failed", slog.Any("error", err))
		}
		timer.Reset(interval)
	}
}

// look compares what the registry lists with what is wanted.
func (k *keeper) look(ctx context.Context, w *watcher) error {
	wanted, version := k.wantedVersion()
	list, err := k.client.List(ctx, wanted.Service, 0, "")
	if err != nil {
		return err
	}
	key := wanted.Key()
	for _, h := range list.Hosts {
		listed := registry.Instance{Service: wanted.Service, Cluster: h.ClusterName, IP: strings.Trim(h.IP, "[]"), Port: h.Port}
		if listed.Key() != key {
			continue
		}
		found := edit{weight: h.Weight, metadata: h.Metadata, of: version}
		if found.equal(edit{weight: wanted.Weight, metadata: wanted.Metadata, of: version}) {
			w.seen, w.odd = version, nil
			return nil
		}
		if w.seen != version && (w.odd == nil || !w.odd.equal(found)) {
			w.odd = &found
			return nil
		}
		return k.take(ctx, w, found)
	}
	return nil // disabled, or lost, which the beats find out
}

// take adopts an edit, unless the desired state was changed meanwhile.
func (k *keeper) take(ctx context.Context, w *watcher, found edit) error {
	select {
	case k.slot.turn <- struct{}{}:
		defer func() { <-k.slot.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	desired, version := k.wantedVersion()
	if version != found.of {
		return nil
	}
	desired.Weight, desired.Metadata = found.weight, found.metadata
	err := k.client.Check(desired)
	if desired.Ephemeral {
		_, timing := beatInterval(desired.Metadata, k.floor < shortestBeat)
		err = errors.Join(err, timing)
	}
	if err != nil {
		if w.odd == nil || !w.odd.equal(found) {
			k.logger.Warn("a change made at the registry cannot be adopted", slog.Any("error", err))
		}
		w.odd = &found
		return nil
	}
	w.seen, w.odd = k.want(desired), nil
	k.logger.Info("adopted a change made at the registry", slog.Float64("weight", desired.Weight))
	k.tell()
	return nil
}
