package consensus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/rollcall-go/rollcall/internal/wholefile"
)

// votes is the kind of the file that raft's term and vote are in.
var votes = seal{magic: 0x53544f56 /* "VOTS" */, format: 1, what: "the votes"}

// stableStore keeps raft's term and vote. It is a [raft.StableStore].
type stableStore struct {
	path     string
	logger   *slog.Logger
	warnings rate.Sometimes
	// onFailure hears of the error after which nothing is written any more.
	onFailure func(error)
	// closing ends the wait of a value that could not be written; nil until hold.
	closing chan struct{}
	// The calls that tests let fail.
	place func(path string, content []byte) error
	sync  func(dir string) error
	// waiting is why a value could not be written yet, nil when none waits.
	waiting atomic.Pointer[error]

	mu     sync.Mutex
	values map[string][]byte // what the file has
	failed error
}

// createStable makes an empty store; it is there as a whole or not at all.
func createStable(path string) error {
	content, err := votes.encode(map[string][]byte{})
	if err != nil {
		return err
	}
	return replaceFile(path, content)
}

// openStable reads and checks the whole store. There is one in every directory
// that was used: without it a node could vote twice in a term, so a missing file
// is damage.
func openStable(path string, logger *slog.Logger, onFailure func(error)) (*stableStore, error) {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &DamageError{File: path, Reason: "the file is missing, and with it the votes of this node"}
	case err != nil:
		return nil, fmt.Errorf("read the votes: %w", err)
	}
	values, err := decodeStable(path, content)
	if err != nil {
		return nil, err
	}
	// What was being written when the process died was never acted on.
	if err := os.Remove(path + unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove unfinished votes: %w", err)
	}
	return &stableStore{
		path: path, logger: logger, warnings: rate.Sometimes{Interval: warningInterval}, onFailure: onFailure,
		place: placeFile, sync: wholefile.SyncDirectory, values: values,
	}, nil
}

// decodeStable reads the content of a store. path is for errors.
func decodeStable(path string, content []byte) (values map[string][]byte, err error) {
	if err := votes.decode(path, content, &values); err != nil {
		return nil, err
	}
	if values == nil {
		return nil, &DamageError{File: path, Offset: sealHeader, Reason: "there are no votes"}
	}
	return values, nil
}

// hold says that raft is about to run, for which a value that cannot be written
// is the end of the process, and with it of the services that need no consensus.
// From now on raft does not learn of it: it stands still until the value is
// there or it is stopped, which keeps it from acting on a vote that it would
// forget. It is called before raft is started.
func (s *stableStore) hold() { s.closing = make(chan struct{}) }

// release ends that. It is called once, when raft was told to stop.
func (s *stableStore) release() { close(s.closing) }

// Set implements [raft.StableStore].
func (s *stableStore) Set(key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, there := s.values[string(key)]; s.failed == nil && there && bytes.Equal(old, value) {
		return nil
	}
	values := maps.Clone(s.values)
	values[string(key)] = bytes.Clone(value)
	if err := s.replace(values); err != nil {
		return err
	}
	s.values = values
	return nil
}

// replace writes the store. While it is held, it ends with success or with the
// node.
func (s *stableStore) replace(values map[string][]byte) error {
	if s.failed != nil {
		return s.failed
	}
	content, err := votes.encode(values)
	if err != nil {
		return err
	}
	for err = s.place(s.path, content); err != nil; err = s.place(s.path, content) {
		// The file is as before, and the next attempt is a new one.
		if s.closing == nil {
			return err
		}
		s.waiting.Store(&err)
		s.warnings.Do(func() {
			s.logger.Warn("the votes cannot be written; persistent data cannot be changed until they can",
				slog.String("file", s.path), slog.String("error", err.Error()))
		})
		if s.stopped(writePause) {
			s.failed = err
			return err
		}
	}
	s.waiting.Store(nil)
	if err := s.sync(filepath.Dir(s.path)); err != nil {
		// Which of the two files a crash leaves is unknown, and a second sync would
		// not tell.
		s.failed = fmt.Errorf("sync the votes: %w", err)
		if s.closing != nil {
			s.onFailure(s.failed)
			<-s.closing
		}
		return s.failed
	}
	return nil
}

// stopped waits and says whether raft was told to stop.
func (s *stableStore) stopped(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-s.closing:
		return true
	}
}

// Get implements [raft.StableStore].
func (s *stableStore) Get(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.values[string(key)]), nil
}

// SetUint64 implements [raft.StableStore]. Once raft was told to stop, it does
// not hear of a failure: it would end the process for a term. A vote is given
// with the candidate, and there [stableStore.Set] fails.
func (s *stableStore) SetUint64(key []byte, value uint64) error {
	err := s.Set(key, binary.LittleEndian.AppendUint64(nil, value))
	if s.closing != nil {
		return nil
	}
	return err
}

// GetUint64 implements [raft.StableStore].
func (s *stableStore) GetUint64(key []byte) (uint64, error) {
	value, err := s.Get(key)
	if err != nil || len(value) == 0 {
		return 0, err
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("the value of %q is not a number", key)
	}
	return binary.LittleEndian.Uint64(value), nil
}
