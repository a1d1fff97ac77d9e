package naming

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRestoreSnapshot: whatever is in a file, reading it ends, takes no more
// memory than the file has, and what was accepted can be written and read again.
func FuzzRestoreSnapshot(f *testing.F) {
	s := newStore(f, Options{})
	require.NoError(f, s.Register(serviceKey("s"), registration("::1", 1))) // small: the fuzzer shortens what it keeps
	file := snapshotOf(f, s)
	f.Add(file)
	f.Add(file[:len(file)-3])
	f.Add([]byte(snapshotMagic))
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := readSnapshot(bytes.NewReader(file)); err != nil {
			require.ErrorIs(t, err, ErrSnapshot)
			return // before a store is started, which would slow the fuzzer down
		}
		s := New(Options{})
		defer s.Close()
		if _, err := s.RestoreSnapshot(bytes.NewReader(file)); err != nil {
			require.NotErrorIs(t, err, ErrSnapshot)
		}
		requireSurvives(t, s)
	})
}

// FuzzSnapshotFrame is the same behind the checksums, which the fuzzer cannot
// guess.
func FuzzSnapshotFrame(f *testing.F) {
	s := varied(f)
	for _, namespace := range s.Namespaces() {
		for _, r := range s.Services(namespace) {
			payload := appendService(nil, r.Key())
			for i := range r.Ephemeral() {
				payload = appendRecord(payload, i)
			}
			f.Add(payload)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		d := snapshotData{}
		if err := d.add(append([]byte{frameRecords}, payload...), frameClock, interned{}); err != nil {
			return
		}
		file := framed([]byte{frameClock, 0}, append([]byte{frameRecords}, payload...),
			binary.AppendUvarint([]byte{frameEnd}, uint64(d.records)))
		s := New(Options{})
		defer s.Close()
		if _, err := s.RestoreSnapshot(bytes.NewReader(file)); err != nil {
			require.NotErrorIs(t, err, ErrSnapshot)
		}
		requireSurvives(t, s)
	})
}

func requireSurvives(t *testing.T, s *Store) {
	t.Helper()
	again := New(Options{})
	defer again.Close()
	_, err := again.RestoreSnapshot(bytes.NewReader(snapshotOf(t, s)))
	require.NoError(t, err)
	require.Equal(t, recordsOf(s), recordsOf(again))
}
