package autoconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// reloader reads the configuration again and applies the difference: what is read
// is a whole new configuration, which is validated before anything is touched.
type reloader struct {
	boot    *boot
	loggers *Loggers
	parts   *reloadParts // set before the application starts

	// life ends when the application stops.
	life context.Context
	end  context.CancelFunc

	turn sync.Mutex // one reload at a time
	// settings are what is in effect, as far as a reload applies it.
	settings *settings
	// shadowed are the keys of the reload under way that a stronger layer keeps from
	// having an effect.
	shadowed map[string]registry.Layer

	mu      sync.Mutex
	name    string // of the document
	content []byte // of the document when it was read last
	current []config.Effective
	waiting map[string]config.Effective
}

// reloadParts are what a reload changes.
type reloadParts struct {
	inside *inside
	offer  *offer // nil without a registration
	logger *slog.Logger
}

func newReloader(b *boot, s *settings, loaded *config.Config, loggers *Loggers) *reloader {
	life, end := context.WithCancel(context.Background())
	return &reloader{
		boot: b, loggers: loggers, life: life, end: end,
		settings: s, name: loaded.File, content: loaded.Content, current: loaded.Effective(),
	}
}

// file names the document, "" when there is none.
func (r *reloader) file() string { return r.name }

// properties returns every key with what is in effect.
func (r *reloader) properties() []config.Effective {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.current)
}

// pending returns what was read and waits for a restart.
func (r *reloader) pending() map[string]config.Effective {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting
}

// reload is [App.Reload]. A change that could not be made, and may be later, is left
// to the watch as one that nobody has looked at.
func (r *reloader) reload(ctx context.Context, why string) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	err := r.reloadInTurn(ctx, why)
	if mayPass(err) {
		r.forget()
	}
	return err
}

// reloadChanged is reload for the watch, which tries again by itself.
func (r *reloader) reloadChanged(ctx context.Context, why string) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	return r.reloadInTurn(ctx, why)
}

// reloadInTurn reads and applies. The turn is held.
func (r *reloader) reloadInTurn(ctx context.Context, why string) error {
	if r.parts == nil || r.life.Err() != nil {
		return errors.New("reload the configuration: the application does not run")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.life, cancel)()
	logger := r.parts.logger
	r.look()
	again := r.boot.again()
	next, loaded, err := again.read()
	switch {
	case err != nil:
	case r.name != "" && loaded.File == "":
		// It was found by a search, which is content with nothing.
		err = fmt.Errorf("read the configuration: %s is gone", r.name)
	default:
		err = loaded.Err()
	}
	if err != nil {
		for line := range lines(err) {
			logger.Error("configuration not reloaded, nothing was changed", slog.String("why", why), slog.String("problem", line))
		}
		return unreadable{err}
	}
	for _, n := range loaded.Notes {
		if n.Level >= slog.LevelWarn {
			logger.Log(ctx, n.Level, n.Text, n.Args...)
		}
	}
	effective := loaded.Effective()
	changed := r.changed(effective)
	if len(changed) == 0 {
		r.settle(effective, nil, nil)
		logger.Info("configuration read again, nothing is different", slog.String("why", why))
		return nil
	}
	applied, errs := r.apply(ctx, next, changed)
	delivered, err := r.deliver(again, changed)
	applied, errs = append(applied, delivered...), append(errs, err)
	r.settle(effective, changed, applied)
	r.report(why, changed, applied)
	return errors.Join(errs...)
}

// unreadable is why a configuration was not read, or found bad.
type unreadable struct{ error }

func (e unreadable) Unwrap() error { return e.error }

// look notes the content of the file that is about to be read.
func (r *reloader) look() {
	if !r.watchable() {
		return
	}
	content, err := os.ReadFile(r.name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.content = content
	}
}

// forget has the content of the file be new to whoever looks at it next.
func (r *reloader) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.content = nil
}

// seen reports whether this content of the file was read, or was found bad. It waits
// for a reload under way, which may come to forget it.
func (r *reloader) seen(content []byte) bool {
	r.turn.Lock()
	defer r.turn.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Equal(content, r.content)
}

// changed returns the keys whose value is not the one in effect, in the order of
// the blocks.
func (r *reloader) changed(next []config.Effective) []string {
	var keys []string
	for i, e := range next {
		if !reflect.DeepEqual(e.Value, r.current[i].Value) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// settle notes what is in effect now and what waits.
func (r *reloader) settle(next []config.Effective, changed, applied []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := map[string]config.Effective{}
	current := slices.Clone(next)
	for i, e := range next {
		if slices.Contains(changed, e.Key) && !slices.Contains(applied, e.Key) {
			waiting[e.Key] = e
			current[i] = r.current[i]
		}
	}
	r.current, r.waiting = current, waiting
}

// report says what became of each key.
func (r *reloader) report(why string, changed, applied []string) {
	logger := r.parts.logger
	effective := slices.DeleteFunc(slices.Clone(applied), func(key string) bool { return r.shadowed[key] != "" })
	if len(effective) > 0 {
		logger.Info("configuration reloaded", slog.String("why", why), slog.String("applied", strings.Join(effective, ", ")))
	}
	for _, key := range changed {
		if by, ok := r.shadowed[key]; ok {
			logger.Warn("configuration key read, but without an effect while something stronger says otherwise",
				slog.String("key", key), slog.String("shadowed-by", string(by)))
			continue
		}
		if slices.Contains(applied, key) {
			continue
		}
		if change := changeOf(key); change.how != nil {
			logger.Warn("configuration key not applied, the change failed or the part is off", slog.String("key", key))
			continue
		}
		logger.Warn("configuration key cannot change while the application runs, restart to apply it", slog.String("key", key))
	}
}

// change is how the new values of some keys are applied.
type change struct {
	name string
	how  func(r *reloader, ctx context.Context, next *settings, keys []string) error
}

// The ways, in the order in which they are gone: the quick ones first, so that a
// registry that does not answer holds none of them up.
var (
	changeLevels       = change{"the levels of the loggers", (*reloader).applyLevels}
	changeBalancer     = change{"the load balancer", (*reloader).applyBalancer}
	changeServers      = change{"the nodes of the registry", (*reloader).applyServers}
	changeRegistration = change{"the registration", (*reloader).applyRegistration}
	// changeLookups is a part of changeRegistration, on its own where nothing is
	// registered.
	changeLookups = change{"where names are looked up", (*reloader).applyLookups}
)

// changeOf says how a key is applied; with no way it needs a restart.
func changeOf(key string) change {
	switch {
	case key == "logging.level", key == "logging.levels":
		return changeLevels
	case key == loadbalance.PropertiesPrefix+".enabled":
	case strings.HasPrefix(key, loadbalance.PropertiesPrefix+"."):
		return changeBalancer
	case key == "cloud.nacos.server-addr", key == "cloud.nacos.discovery.server-addr":
		return changeServers
	case slices.Contains(registrationKeys, key), slices.Contains(addressKeys, key):
		return changeRegistration
	}
	return change{}
}

// wayOf is changeOf in this application, which may only look up.
func (r *reloader) wayOf(key string) change {
	if r.parts.inside.registration == nil && slices.Contains(lookupKeys, key) {
		return changeLookups
	}
	return changeOf(key)
}

// apply goes every way that a changed key calls for, and returns the keys that are
// in effect now.
func (r *reloader) apply(ctx context.Context, next *settings, changed []string) (applied []string, errs []error) {
	r.shadowed = map[string]registry.Layer{}
	for _, way := range []change{changeLevels, changeBalancer, changeServers, changeRegistration, changeLookups} {
		var keys []string
		for _, key := range changed {
			if r.wayOf(key).name == way.name {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			continue
		}
		switch err := way.how(r, ctx, next, keys); {
		case errors.Is(err, errNotThere):
		case err != nil:
			r.parts.logger.Error("a change of the configuration failed",
				slog.String("keys", strings.Join(keys, ", ")), slog.Any("error", err))
			errs = append(errs, fmt.Errorf("reload %s: %w", way.name, err))
			if unfinished := (*unfinishedError)(nil); errors.As(err, &unfinished) {
				applied = append(applied, keys...)
			}
		default:
			applied = append(applied, keys...)
		}
	}
	return applied, errs
}

// errNotThere says that the part which a key is about does not take part.
var errNotThere = errors.New("the part is off")

func (r *reloader) applyLevels(_ context.Context, next *settings, _ []string) error {
	if r.boot.logger != nil {
		return errNotThere // the application's own logger has its own level
	}
	r.loggers.configure(*next.logging, r.settings.logging.Levels)
	r.settings.logging = next.logging
	return nil
}

func (r *reloader) applyBalancer(_ context.Context, next *settings, _ []string) error {
	l := r.parts.inside.balancer
	if l == nil {
		return errNotThere
	}
	p := next.loadbalancer.Clone()
	p.Enabled = r.settings.loadbalancer.Enabled
	if err := l.Reconfigure(p); err != nil {
		return err
	}
	r.settings.loadbalancer = next.loadbalancer
	return nil
}

// unfinishedError says that the new values are in effect, and what did not follow.
type unfinishedError struct{ err error }

func (e *unfinishedError) Error() string { return e.err.Error() }
func (e *unfinishedError) Unwrap() error { return e.err }
