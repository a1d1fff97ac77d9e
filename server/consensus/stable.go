package consensus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// stableStore keeps raft's term and vote in bbolt. bbolt does not check its data
// pages, so each value carries a checksum over key and value. It is a
// [raft.StableStore].
type stableStore struct {
	db      *bbolt.DB
	closing chan struct{}
	// onFailure hears of a value that could not be written.
	onFailure func(error)

	mu     sync.Mutex
	values map[string][]byte
}

var stableBucket = []byte("stable")

func boltOptions() *bbolt.Options {
	// The directory is locked, so nobody holds the file.
	return &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType}
}

// createStable makes an empty store; it is there as a whole or not at all.
func createStable(path string) error {
	db, err := bbolt.Open(path+unfinished, fileMode, boltOptions())
	if err != nil {
		return fmt.Errorf("create the vote store: %w", err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(stableBucket)
		return err
	})
	if err = errors.Join(err, db.Close()); err == nil {
		err = os.Rename(path+unfinished, path)
	}
	if err != nil {
		return fmt.Errorf("create the vote store: %w", err)
	}
	return nil
}

// openStable reads and checks the whole store.
func openStable(path string, onFailure func(error)) (*stableStore, error) {
	s := &stableStore{onFailure: onFailure, closing: make(chan struct{}), values: make(map[string][]byte)}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open the vote store: %w", err)
	}
	err := guard(path, func() (err error) {
		if s.db, err = bbolt.Open(path, fileMode, boltOptions()); err != nil {
			return err
		}
		return s.db.View(s.load)
	})
	if err == nil {
		return s, nil
	}
	if s.db != nil {
		_ = guard(path, s.db.Close)
	}
	switch damage := (*DamageError)(nil); {
	case errors.As(err, &damage):
		return nil, damage
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return nil, &DamageError{File: path, Reason: err.Error()}
	}
	return nil, fmt.Errorf("open the vote store: %w", err)
}

// load reads all values after bbolt checked its own structure.
func (s *stableStore) load(tx *bbolt.Tx) error {
	var inconsistent error
	for err := range tx.Check() { // to the end: it is fed by a goroutine
		inconsistent = errors.Join(inconsistent, err)
	}
	if inconsistent != nil {
		return &DamageError{File: s.db.Path(), Reason: inconsistent.Error()}
	}
	bucket := tx.Bucket(stableBucket)
	if bucket == nil {
		return &DamageError{File: s.db.Path(), Reason: "the bucket is missing"}
	}
	return bucket.ForEach(func(k, v []byte) error {
		if len(v) < 4 || binary.LittleEndian.Uint32(v) != stableSum(k, v[4:]) {
			return &DamageError{File: s.db.Path(), Reason: fmt.Sprintf("the value of %q does not match its checksum", k)}
		}
		s.values[string(k)] = bytes.Clone(v[4:])
		return nil
	})
}

// guard turns what bbolt does with a damaged file, a panic or a fault in mapped
// memory, into an error. The file stays open and locked then, until the process
// ends.
func guard(path string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &DamageError{File: path, Reason: fmt.Sprint(r)}
		}
	}()
	return f()
}

func stableSum(key, value []byte) uint32 {
	return checksum(append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(key))), key...), value...))
}

// release ends the wait of a value that could not be written. It is called once,
// when raft was told to stop.
func (s *stableStore) release() { close(s.closing) }

// Close closes the file.
func (s *stableStore) Close() error { return s.db.Close() }

// Set implements [raft.StableStore]. Raft ends the process when a term cannot be
// written, and with it the services that need no consensus. So it does not learn
// of it: it stands still here, which keeps it from acting on a vote that it would
// forget, until it is stopped.
func (s *stableStore) Set(key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	put := func(tx *bbolt.Tx) error {
		return tx.Bucket(stableBucket).Put(key, append(binary.LittleEndian.AppendUint32(nil, stableSum(key, value)), value...))
	}
	// Twice: bbolt has two roots in turn, and when the newer one is damaged it goes
	// back to the other without a word. A vote must be in both.
	if err := errors.Join(s.db.Update(put), s.db.Update(put)); err != nil {
		s.onFailure(fmt.Errorf("write the vote store: %w", err))
		<-s.closing
	}
	s.values[string(key)] = bytes.Clone(value)
	return nil
}

// Get implements [raft.StableStore].
func (s *stableStore) Get(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.values[string(key)]), nil
}

// SetUint64 implements [raft.StableStore].
func (s *stableStore) SetUint64(key []byte, value uint64) error {
	return s.Set(key, binary.LittleEndian.AppendUint64(nil, value))
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
