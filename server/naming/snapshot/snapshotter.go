package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/server/naming"
)

// DefaultPeriod is the time between two looks for changes.
const DefaultPeriod = 30 * time.Second

const (
	// decisionDelay is how long a decision waits for others to be written with it.
	decisionDelay = time.Second
	// decisionRest is how many times as long as the last write took there is a rest
	// before a decision is written, so that a large store and a stream of decisions
	// keep the disk busy for no more than a small part of the time.
	decisionRest = 20
)

// Store is what is kept: a [naming.Store].
type Store interface {
	// Snapshot writes what there is and returns the number of records.
	Snapshot(io.Writer) (records int, err error)
	// RestoreSnapshot takes in what Snapshot wrote; naming.ErrSnapshot, and no
	// change, when it is damaged.
	RestoreSnapshot(io.Reader) (records int, err error)
	// Changes grows with every change to what Snapshot writes.
	Changes() uint64
	// Decisions is signalled after a change that must not wait for the period,
	// since nobody makes it again.
	Decisions() <-chan struct{}
}

// Options of a [Snapshotter]. Store and Path are required.
type Options struct {
	// Store is what is kept.
	Store Store
	// Path is the file's, in a directory that exists and that no other process
	// uses. Beside it there may be a file with ".tmp" and one with ".damaged"
	// appended to its name.
	Path string
	// Period is the time between two looks for changes, DefaultPeriod if 0.
	// Decisions are written sooner: after a second, or when the file is large after
	// 20 times as long as it last took to write, but no later than the period.
	Period time.Duration
	// Logger gets one line for what was restored, one when writing begins to fail
	// and one when it works again; nil discards them.
	Logger *slog.Logger
	// Registerer takes the metrics; nil keeps them to the snapshotter.
	Registerer prometheus.Registerer
}

// Snapshotter writes the file when something changed.
type Snapshotter struct {
	store   Store
	path    string
	logger  *slog.Logger
	metrics *metrics

	written uint64 // Store.Changes as of the file
	failing bool   // the last attempt failed
	ended   time.Time
	took    time.Duration // from the last attempt, which ended then

	cancel context.CancelFunc
	done   chan struct{}
	close  sync.Once
	closed error
}

// Open restores the store from the file and begins to keep it. No file is no
// error, and neither is a damaged one: it is set aside, replacing one that was
// set aside before, and the store stays as it is. Errors are what the operator
// must put right: a directory that is missing or not to be read or changed.
func Open(o Options) (*Snapshotter, error) {
	if o.Store == nil || o.Path == "" {
		return nil, errors.New("snapshot: Store and Path are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if _, err := os.Stat(filepath.Dir(o.Path)); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	s := &Snapshotter{
		store: o.Store, path: o.Path, logger: o.Logger, metrics: newMetrics(o.Registerer),
		done: make(chan struct{}),
	}
	if err := s.restore(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.run(ctx, cmp.Or(o.Period, DefaultPeriod))
	return s, nil
}

// Close writes what changed since the last time and stops. Closing again does
// nothing and returns the same. Who calls it must have stopped changing the
// store, or what comes later is not in the file.
func (s *Snapshotter) Close() error {
	s.close.Do(func() {
		s.cancel()
		<-s.done
		s.closed = s.keep()
	})
	return s.closed
}

func (s *Snapshotter) run(ctx context.Context, period time.Duration) {
	defer close(s.done)
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.store.Decisions():
			if !s.gather(ctx, period) {
				return
			}
		}
		err := s.keep()
		ticker.Reset(period) // one that fired meanwhile would have it written once more at once
		switch {
		case err != nil && !s.failing:
			s.logger.Error("ephemeral instances cannot be kept on disk; trying on", slog.Any("error", err))
		case err == nil && s.failing:
			s.logger.Info("ephemeral instances are kept on disk again", slog.String("file", s.path))
		}
		s.failing = err != nil
	}
}

// gather waits for what may come with a decision. It returns false when the
// snapshotter is closed meanwhile.
func (s *Snapshotter) gather(ctx context.Context, period time.Duration) bool {
	rest := time.Until(s.ended.Add(decisionRest * s.took))
	timer := time.NewTimer(min(max(decisionDelay, rest), period))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	}
	select {
	case <-s.store.Decisions(): // is written with the first
	default:
	}
	return true
}

// restore reads the file into the store.
func (s *Snapshotter) restore() error {
	start := time.Now()
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	records, err := s.store.RestoreSnapshot(f)
	_ = f.Close() // it was only read
	switch {
	case errors.Is(err, naming.ErrSnapshot):
		aside := s.path + ".damaged"
		if renamed := os.Rename(s.path, aside); renamed != nil {
			return fmt.Errorf("snapshot: set a damaged file aside: %w", errors.Join(renamed, err))
		}
		s.logger.Error("the file of ephemeral instances is damaged and was set aside; they come back with their next beats",
			slog.String("file", aside), slog.Any("error", err))
		return nil
	case err != nil && records == 0:
		return fmt.Errorf("snapshot: read %s: %w", s.path, err)
	case err != nil:
		s.logger.Warn("some ephemeral instances on disk are not valid and were left out", slog.Any("error", err))
	}
	s.written = s.store.Changes()
	s.logger.Info("ephemeral instances restored; each has a full timeout from now",
		slog.Int("instances", records), slog.Duration("took", time.Since(start).Round(time.Millisecond)))
	return nil
}

// keep writes the file if something changed. One goroutine at a time calls it.
func (s *Snapshotter) keep() error {
	changes := s.store.Changes() // before reading the store: what comes after is for the next time
	if changes == s.written {
		return nil
	}
	start := time.Now()
	size, err := s.write()
	s.ended = time.Now()
	s.took = s.ended.Sub(start)
	if err != nil {
		s.metrics.failures.Inc()
		return err
	}
	s.written = changes
	s.metrics.writes.Inc()
	s.metrics.bytes.Set(float64(size))
	s.metrics.seconds.Set(s.took.Seconds())
	return nil
}
