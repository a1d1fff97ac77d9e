package naming

import (
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// BeatResult is what a beat found.
type BeatResult struct {
	// Known says that the instance is registered, by this beat or before. If
	// not, the client is to register again.
	Known bool
	// Interval is how often the client is to beat.
	Interval time.Duration
}

// Beat records a sign of life. A light beat (full is nil) of an unknown instance
// changes nothing; a full one registers it, as an ephemeral one, with all it
// carries, except within two beat intervals after it was explicitly deregistered.
// A beat never changes metadata, weight or enabled of a known instance (server
// case SB-05). A persistent instance is known, and the beat changes nothing of it. Its
// target is k and key; the names inside the document mean nothing here (SB-06).
//
// For a known, healthy instance it is a look-up and a store of two numbers,
// whatever the size of the service, and allocates nothing (SB-20). The only
// errors are a malformed address and, where a full beat must register, names
// that cannot be.
func (s *Store) Beat(k wire.ServiceKey, key InstanceKey, full *wire.Beat) (BeatResult, error) {
	s.lease.heard()
	interval, answer, err := s.answerBeat(k, key, full)
	s.beats.add(full != nil, answer)
	return BeatResult{Known: answer == beatKnown || answer == beatCreated, Interval: interval}, err
}

// BeatMalformed notes a beat that could not be read: it counts as refused, and its
// sender is heard like everybody's.
func (s *Store) BeatMalformed(full bool) {
	s.lease.heard()
	s.beats.add(full, beatRefused)
}

// BeatTurnedAway notes that a beat was refused without having been read, as the
// server had too much to do. Its sender is alive and cannot be told from the others,
// so that nobody's silence counts meanwhile, and everybody has a full timeout from
// then (SB-20). It costs as good as nothing.
func (s *Store) BeatTurnedAway() { s.lease.turnedAway() }

// answerBeat does what a beat is to do. The interval is the default one where
// the instance is not known.
func (s *Store) answerBeat(k wire.ServiceKey, key InstanceKey, full *wire.Beat) (time.Duration, beatAnswer, error) {
	interval := s.switches.Load().ClientBeatIntervalDuration()
	if key.IP == "" && full == nil {
		return interval, beatUnknown, nil
	}
	key, err := key.canonical()
	if err != nil {
		return interval, beatRefused, err
	}
	if e, ok := s.entry(k); ok {
		if i, ok := e.beat(key); ok {
			return s.interval(i), beatKnown, nil
		}
		if i, ok := e.revision.Load().persistent.get(key); ok {
			return s.interval(i), beatKnown, nil
		}
	}
	if full == nil {
		return interval, beatUnknown, nil
	}
	return s.registerByBeat(k, key, full)
}

func (s *Store) interval(i *Instance) time.Duration {
	if i.ownInterval {
		return i.Intervals.Beat
	}
	return s.switches.Load().ClientBeatIntervalDuration()
}

// beat touches the ephemeral instance and brings it back to health.
func (e *entry) beat(key InstanceKey) (*Instance, bool) {
	r := e.revision.Load()
	i, ok := r.ephemeral.get(key)
	if !ok {
		return nil, false
	}
	e.store.lease.touch(i.live)
	// Whoever judged the instance before the touch has published by now or will
	// look at the touch once more (expiry.go).
	if now := e.revision.Load(); now != r {
		if i, ok = now.ephemeral.get(key); !ok {
			return nil, false
		}
	}
	if !i.Healthy {
		e.recover(key)
	}
	return i, true
}

// recover makes an instance healthy that was just heard. That the entry died
// meanwhile is no matter: the next beat finds out.
func (e *entry) recover(key InstanceKey) {
	_ = e.do(func(d *draft) error {
		if i, ok := d.ephemeral.get(key); ok && !i.Healthy {
			d.replace(i, i.withHealth(true))
		}
		return nil
	})
}

func (s *Store) registerByBeat(k wire.ServiceKey, key InstanceKey, full *wire.Beat) (time.Duration, beatAnswer, error) {
	interval, answer := s.switches.Load().ClientBeatIntervalDuration(), beatUnknown
	key, err := key.valid()
	if err != nil {
		return interval, beatRefused, err
	}
	err = s.change(k, true, func(d *draft) error {
		i, ok := d.ephemeral.get(key)
		if !ok {
			i, ok = d.persistents().get(key)
		}
		answer = beatKnown
		if !ok {
			if d.buried(key) {
				answer = beatUnknown
				return nil
			}
			answer = beatCreated
			d.register(key, Registration{
				InstanceKey: key, Weight: full.Weight, Enabled: true, Healthy: true, Metadata: full.Metadata,
			})
			i, _ = d.ephemeral.get(key)
		}
		interval = s.interval(i)
		return nil
	})
	if err != nil {
		return interval, beatRefused, err
	}
	return interval, answer, nil
}
