package nacos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
)

const (
	// failedInterval is the longest pause after a beat that failed (C-R7).
	failedInterval = 5 * time.Second
	// breath is the shortest pause between two beats.
	breath = 10 * time.Millisecond
)

// keeper keeps one registration: its desired state, and for an ephemeral one
// the goroutine that beats (C-R6).
type keeper struct {
	client *nacosclient.Client
	logger *slog.Logger
	// slot is where the keeper stands.
	slot *slot
	// floor is the shortest interval that is taken from the server.
	floor time.Duration
	// watching is the interval of the watch, 0 where it is off; tell says that
	// something was adopted.
	watching time.Duration
	tell     func()

	// stopping ends the loop after the request in flight; ctx cuts that off too.
	stopping chan struct{}
	stopOnce func()
	ctx      context.Context
	cut      context.CancelFunc
	done     chan struct{}

	mu      sync.Mutex
	desired registry.Registration
	// version counts the changes of desired, from 1.
	version uint64
	state   BeatState
	// light says that the server takes light beats.
	light bool
	// doubt says that a change failed which the server may have made all the same,
	// so that it is to be told what is desired once more.
	doubt bool
}

// BeatState is what is known of the beats of one registration.
type BeatState struct {
	// Key identifies the registration.
	Key registry.Key
	// Interval is the current time between two beats; 0 for a persistent
	// instance, which has none.
	Interval time.Duration
	// LastBeat is when the server last accepted a beat, or the registration
	// before the first one.
	LastBeat time.Time
	// Failures counts the beats that failed since then.
	Failures int
	// LastError is why the last beat failed; nil when it did not.
	LastError error
}

// newKeeper returns a keeper of a registration that the server has just
// accepted; start starts its beats.
func newKeeper(r *Registry, s *slot, key registry.Key, desired registry.Registration, interval time.Duration) *keeper {
	k := &keeper{
		client:   r.client,
		logger:   r.logger.With(slog.String("service", key.Service.String()), slog.String("instance", desired.Address())),
		slot:     s,
		floor:    min(shortestBeat, interval),
		stopping: make(chan struct{}),
		done:     make(chan struct{}),
		desired:  desired,
		version:  1,
		watching: r.watching,
		state:    BeatState{Key: key, Interval: interval, LastBeat: time.Now()},
	}
	k.tell = func() { r.tell(k) }
	k.stopOnce = sync.OnceFunc(func() { close(k.stopping) })
	k.ctx, k.cut = context.WithCancel(r.ctx)
	return k
}

// again returns a keeper that goes on where k, which has ended, stopped.
func (k *keeper) again(r *Registry) *keeper {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := newKeeper(r, k.slot, k.state.Key, k.desired, k.state.Interval)
	next.floor, next.light, next.doubt, next.version, next.state = k.floor, k.light, k.doubt, k.version, k.state
	return next
}

// start begins to beat and to watch, as far as there is anything to do.
func (k *keeper) start() {
	var loops sync.WaitGroup
	beats := k.state.Interval > 0
	if beats {
		loops.Go(k.run)
	}
	if k.watching > 0 {
		ctx, cancel := context.WithCancel(k.ctx)
		stop := k.stopOnce
		k.stopOnce = sync.OnceFunc(func() { stop(); cancel() })
		loops.Go(func() {
			defer cancel()
			k.watch(ctx, k.watching)
		})
	}
	if !beats && k.watching == 0 {
		close(k.done)
		return
	}
	go func() {
		loops.Wait()
		close(k.done)
	}()
}

// stop ends the beats and waits for the one in flight, since a server that still
// works on it would bring the instance back after it was taken out (C-R8). The
// request is cut off when patience is over or ctx ends.
func (k *keeper) stop(ctx context.Context, patience time.Duration) {
	k.stopOnce()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-k.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	k.cut()
	<-k.done
}

// join reports whether the loop has ended, which it waits for until ctx ends.
func (k *keeper) join(ctx context.Context) bool {
	select {
	case <-k.done:
		return true
	default:
	}
	select {
	case <-k.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// run is the beat loop. It ends by stop and by nothing else (C-R7).
func (k *keeper) run() {
	timer := time.NewTimer(k.first())
	defer timer.Stop()
	for {
		select {
		case <-k.stopping:
			return
		case <-k.ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		err := k.beat()
		if k.ctx.Err() != nil {
			return
		}
		pause := k.note(err)
		// From beat to beat, so that a slow server does not stretch the interval; one
		// slower than that gets a breath.
		timer.Reset(max(time.Until(began.Add(pause)), breath))
	}
}

// beat sends one beat, restores the instance where the server lost it, and turns
// a panic below into an error.
func (k *keeper) beat() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("beat panicked: %v", p)
		}
	}()
	desired, light := k.next()
	reply, err := k.client.Beat(k.ctx, desired, light)
	switch {
	case err != nil && nacosclient.Disowned(err):
		// It may mean that the instance is lost, in words nobody knows.
		return errors.Join(err, k.restore())
	case err != nil:
		return err
	}
	k.adopt(reply)
	switch reply.Code {
	case wire.CodeOK, 0: // early servers send no code
		k.reassure()
		return nil
	case wire.CodeResourceNotFound:
		k.logger.Info("the registry lost the instance, registering it again")
		return k.restore()
	}
	return errors.Join(fmt.Errorf("the registry answered with the unknown code %d", reply.Code), k.restore())
}

// restore registers the desired state with a server that lost the instance.
func (k *keeper) restore() error { return k.tellDesired(k.client.Register) }

// reassure tells the server the desired state after a change whose end is in doubt
// (C-R5). Where that fails the doubt stays, and the next beat has it told again.
func (k *keeper) reassure() {
	k.mu.Lock()
	doubt := k.doubt
	k.mu.Unlock()
	if !doubt {
		return
	}
	if err := k.tellDesired(k.client.Update); err != nil && k.ctx.Err() == nil {
		k.logger.Debug("the registry may know another state than the desired one", slog.Any("error", err))
	}
}

// tellDesired makes a call with the desired state. It waits for the turn, unless
// whoever has it stops the beats.
func (k *keeper) tellDesired(call func(context.Context, registry.Registration) error) error {
	select {
	case k.slot.turn <- struct{}{}:
		defer func() { <-k.slot.turn }()
	case <-k.stopping:
		return nil
	case <-k.ctx.Done():
		return k.ctx.Err()
	}
	err := call(k.ctx, k.wanted())
	if err == nil {
		k.mu.Lock()
		k.doubt = false
		k.mu.Unlock()
	}
	return err
}

// failed says that a change came to an error.
func (k *keeper) failed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.doubt = k.doubt || !nacosclient.Refused(err)
}

// next returns what to send. A full beat restores a lost instance as enabled,
// whatever was declared; a disabled one is therefore kept by light beats, which
// a server that lost it answers with the wish to have it registered (B-R4).
func (k *keeper) next() (desired registry.Registration, light bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.desired, k.light || !k.desired.Enabled
}

// adopt takes over what the server says about the beats to come.
func (k *keeper) adopt(reply wire.BeatReply) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.light = reply.LightBeat()
	if ms := reply.ClientBeatInterval; 0 < ms && ms <= longestTime.Milliseconds() {
		k.state.Interval = max(time.Duration(ms)*time.Millisecond, k.floor)
	}
}

// note records how a beat ended and returns the time until the next.
func (k *keeper) note(err error) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	failures := k.state.Failures
	k.state.LastError = err
	if err != nil {
		k.state.Failures++
		level := slog.LevelDebug
		if failures == 0 {
			level = slog.LevelWarn
		}
		k.logger.Log(k.ctx, level, "beat failed", slog.Int("failures", failures+1), slog.Any("error", err))
		return min(k.state.Interval, failedInterval)
	}
	k.state.Failures = 0
	k.state.LastBeat = time.Now()
	if failures > 0 {
		k.logger.Info("beats arrive again", slog.Int("failures", failures))
	}
	return k.state.Interval
}

// first returns the time until the first beat: one interval after the last one,
// or at once where that is over.
func (k *keeper) first() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return max(time.Until(k.state.LastBeat.Add(k.state.Interval)), 0)
}

func (k *keeper) beatState() BeatState {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// wanted returns the desired state.
func (k *keeper) wanted() registry.Registration {
	desired, _ := k.wantedVersion()
	return desired
}

func (k *keeper) wantedVersion() (registry.Registration, uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.desired, k.version
}

// want replaces the desired state and returns its version.
func (k *keeper) want(r registry.Registration) (version uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.desired, k.doubt = r, false
	k.version++
	return k.version
}

// pace has the beats after the next one come at another interval.
func (k *keeper) pace(interval time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state.Interval = interval
}
