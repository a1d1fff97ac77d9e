package naming

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestSB22_ADamagedSnapshotIsRefusedWhole(t *testing.T) {
	file := snapshotOf(t, varied(t))
	s := newStore(t, Options{})
	refuse := func(t require.TestingT, damaged []byte, what string, args ...any) {
		n, err := s.RestoreSnapshot(bytes.NewReader(damaged))
		require.ErrorIsf(t, err, ErrSnapshot, what, args...)
		require.Zero(t, n)
		require.Equal(t, Stats{}, s.Stats())
		require.Zero(t, s.clock.last.Load())
	}
	for length := range file {
		refuse(t, file[:length], "cut to %d bytes", length)
	}
	for at := range file {
		damaged := bytes.Clone(file)
		damaged[at] ^= 1 << (at % 8)
		refuse(t, damaged, "byte %d", at)
	}
	refuse(t, append(bytes.Clone(file), 0), "a byte too many")
	refuse(t, append(bytes.Clone(file), file...), "twice")
	_, err := newStore(t, Options{}).RestoreSnapshot(strings.NewReader("something else, and long enough"))
	require.ErrorContains(t, err, "format 1")
}

// framed makes a file of payloads that all have right checksums.
func framed(payloads ...[]byte) []byte {
	var b bytes.Buffer
	b.WriteString(snapshotMagic)
	f := frameWriter{w: &b}
	for _, p := range payloads {
		f.begin(p[0])
		f.buf = append(f.buf, p[1:]...)
		f.end()
	}
	return b.Bytes()
}

func TestSB22_FramesOutOfPlaceOrMalformed(t *testing.T) {
	clock, end := []byte{frameClock, 5}, []byte{frameEnd, 0}
	service := appendService([]byte{frameRecords}, serviceKey("s"))
	for what, file := range map[string][]byte{
		"not its place":        framed(end),
		"instead of 1":         framed(clock, []byte{frameEnd, 1}),
		"malformed content":    framed([]byte{frameClock}, end),
		"kind 9 is unknown":    framed(clock, []byte{9}, end),
		"ends in the frame":    framed(clock, service),
		"a length of 0":        append(framed(clock), make([]byte, 8)...),
		"a length of 42949672": append(framed(clock), bytes.Repeat([]byte{255}, 8)...),
	} {
		_, err := readSnapshot(bytes.NewReader(file))
		require.ErrorIs(t, err, ErrSnapshot)
		require.ErrorContains(t, err, what)
	}
	for what, file := range map[string][]byte{
		"two clocks":              framed(clock, clock, end),
		"a clock past all time":   framed(binary.AppendUvarint([]byte{frameClock}, maxClock+1), end),
		"a number of ten bytes":   framed(append([]byte{frameClock}, bytes.Repeat([]byte{255}, 11)...), end),
		"a record cut":            framed(clock, append(bytes.Clone(service), 0), []byte{frameEnd, 1}),
		"a text past its frame":   framed(clock, append(bytes.Clone(service), 0, 200), end),
		"more metadata than room": framed(clock, append(bytes.Clone(service), 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127), end),
	} {
		_, err := readSnapshot(bytes.NewReader(file))
		require.ErrorIs(t, err, ErrSnapshot, what)
	}
	d, err := readSnapshot(bytes.NewReader(framed(clock, service, end)))
	require.NoError(t, err)
	require.Equal(t, uint64(5), d.clock)
}

func TestSnapshot_RecordsThatCannotBeAreSkippedAndReported(t *testing.T) {
	records := appendService([]byte{frameRecords}, serviceKey("partly"))
	for _, i := range []*Instance{
		newInstance(at("192.0.2.1", 1), "", record{reg: Registered{Version: Version{Clock: 1}, Weight: 1}}, true, new(liveness)),
		newInstance(at("300.1.1.1", 1), "", record{reg: Registered{Version: Version{Clock: 1}, Weight: 1}}, true, new(liveness)),
		newInstance(at("192.0.2.1", 2), "", record{reg: Registered{Version: Version{Clock: 1}, Weight: -1}}, true, new(liveness)),
	} {
		records = appendRecord(records, i)
	}
	s := newStore(t, Options{})
	n, err := s.RestoreSnapshot(bytes.NewReader(framed([]byte{frameClock, 0}, records, []byte{frameEnd, 3})))
	requireBadRequest(t, err, "is incorrect")
	require.NotErrorIs(t, err, ErrSnapshot)
	require.Equal(t, 3, n)
	require.Equal(t, []int{1}, ports(s, serviceKey("partly")))
}

func TestSnapshot_TellsAFaultyDiskFromADamagedFile(t *testing.T) {
	fault := errors.New("input/output error")
	file := snapshotOf(t, varied(t))
	for _, at := range []int{0, 3, 9, len(file) / 2} {
		s := newStore(t, Options{})
		_, err := s.RestoreSnapshot(io.MultiReader(bytes.NewReader(file[:at]), iotest.ErrReader(fault)))
		require.ErrorIs(t, err, fault)
		require.NotErrorIs(t, err, ErrSnapshot)
		require.Equal(t, Stats{}, s.Stats())
	}
	s := varied(t)
	for limit := range 4 {
		_, err := s.Snapshot(&failingWriter{writes: limit})
		require.ErrorIs(t, err, io.ErrShortWrite)
	}
}

type failingWriter struct{ writes int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.writes--; w.writes < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}
