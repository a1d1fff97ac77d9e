// Package logsample keeps messages that repeat from filling a log: of each, a few
// are written in a span of time, and the rest is counted (server case SB-23).
//
// A message is its constant text with its level; what varies belongs into
// attributes. Lines of one message that are alike, which is to differ in nothing but
// numbers and times, a port aside, have only a few of its places, so that one
// service that keeps failing does not hide the others.
//
// Here belongs what others can cause as often as they like: requests, connections,
// what clients register. Samplers may stand behind one another, as that of a part
// does before that of the whole log. Not here belongs that a state lasts, such as a
// full disk or a collector that is away: there is nothing to count, and whoever
// tries again repeats it by a rate.Sometimes, or tells only the beginning and the
// end.
package logsample

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"
)

const (
	// muted is the attribute that counts what was left out.
	muted = "muted"
	// maxMessages bounds how many messages are told apart at the same time. Texts are
	// constants of the program; where somebody's are not, all further ones are one.
	maxMessages = 512
	// maxAlike lines of one message that are alike pass in an interval.
	maxAlike = 3
)

// Sampler counts messages. It is safe for concurrent use. Whoever made one closes
// it.
type Sampler struct {
	burst    int
	interval time.Duration
	seed     maphash.Seed

	mu     sync.Mutex
	closed bool
	spans  map[message]*span
	timers sync.WaitGroup
}

type message struct {
	level slog.Level
	text  string
}

// span is the interval of one message.
type span struct {
	ends   time.Time
	passed int
	alike  map[uint64]int // how many of those are alike
	muted  int
	timer  *time.Timer // runs while something is muted
	// The last one that was muted, and who was to write it.
	last    slog.Record
	handler slog.Handler
}

// New returns a sampler that lets so many of each message pass in an interval,
// which begins with the first, and no more than three that are alike. At its end the
// last one that was muted is written with the number of others, as attribute "muted".
func New(burst int, interval time.Duration) *Sampler {
	return &Sampler{burst: burst, interval: interval, seed: maphash.MakeSeed(), spans: make(map[message]*span)}
}

// Handler returns a handler that writes to another one what passes. All handlers
// of a sampler share its counts.
func (s *Sampler) Handler(to slog.Handler) slog.Handler { return handler{to, s} }

// Close writes what is left of all counts and ends them; whatever comes later
// passes. Closing again does nothing.
func (s *Sampler) Close() {
	s.mu.Lock()
	s.closed = true
	var left []*span
	for _, sp := range s.spans {
		if sp.timer != nil && sp.timer.Stop() {
			s.timers.Done()
			left = append(left, sp)
		}
	}
	s.spans = nil
	s.mu.Unlock()
	for _, sp := range left {
		sp.summarise()
	}
	s.timers.Wait()
}

// pass counts a record and says whether it is to be written.
func (s *Sampler) pass(to slog.Handler, r slog.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return true
	}
	now := time.Now()
	key := message{r.Level, r.Message}
	sp := s.spans[key]
	if sp == nil && len(s.spans) >= maxMessages {
		s.prune(now)
		if len(s.spans) >= maxMessages {
			key.text = ""
			sp = s.spans[key]
		}
	}
	if sp == nil || sp.timer == nil && !now.Before(sp.ends) {
		sp = &span{ends: now.Add(s.interval), alike: make(map[uint64]int)}
		s.spans[key] = sp
	}
	if sp.passed < s.burst {
		if line := s.fingerprint(r); sp.alike[line] < maxAlike {
			sp.alike[line]++
			sp.passed++
			return true
		}
	}
	if counts(r) {
		return true
	}
	sp.muted++
	sp.last, sp.handler = r.Clone(), to
	if sp.timer == nil {
		s.timers.Add(1)
		sp.timer = time.AfterFunc(sp.ends.Sub(now), func() { s.end(key, sp) })
	}
	return false
}

// counts says whether a record is what another sampler wrote at the end of a span:
// that is one in an interval, and its count would get lost.
func counts(r slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == muted
		return !found
	})
	return found
}

// fingerprint is the same for lines of a message that are alike.
func (s *Sampler) fingerprint(r slog.Record) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	r.Attrs(func(a slog.Attr) bool {
		v := a.Value.Resolve()
		switch v.Kind() {
		case slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindDuration, slog.KindTime:
			if a.Key != "port" { // it tells instances apart, and is no measure of anything
				return true
			}
		}
		maphash.WriteComparable(&h, a.Key)
		maphash.WriteComparable(&h, v.String())
		return true
	})
	return h.Sum64()
}

// prune forgets the messages that have been quiet.
func (s *Sampler) prune(now time.Time) {
	for key, sp := range s.spans {
		if sp.timer == nil && !now.Before(sp.ends) {
			delete(s.spans, key)
		}
	}
}

// end closes a span in which something was muted.
func (s *Sampler) end(key message, sp *span) {
	defer s.timers.Done()
	s.mu.Lock()
	if s.spans[key] == sp {
		delete(s.spans, key)
	}
	s.mu.Unlock()
	sp.summarise()
}

// summarise writes the last record with the number of others. Nobody counts in
// the span any more.
func (sp *span) summarise() {
	r := sp.last
	r.AddAttrs(slog.Int(muted, sp.muted-1))
	// There is nowhere to tell that the log cannot be written.
	_ = sp.handler.Handle(context.Background(), r)
}

// handler is a slog.Handler that leaves out what does not pass.
type handler struct {
	slog.Handler
	sampler *Sampler
}

// Handle implements [slog.Handler].
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if !h.sampler.pass(h.Handler, r) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.sampler}
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.sampler}
}
