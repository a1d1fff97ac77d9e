package naming

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// A snapshot is the bytes of snapshotMagic and then frames: length and checksum,
// four bytes each, little endian, and a payload whose first byte is its kind.
// The checksum covers length and payload. The first frame is the clock, the last
// one says how many records there were, so that no part can be missing
// unnoticed.
const (
	snapshotMagic   = "RCLEPH\x00\x01" // the last byte is the version of the format
	frameHead       = 8
	frameTarget     = 64 << 10 // a frame is written when it is longer
	frameLimit      = 64 << 20 // and not read when it is longer
	frameClock      = 1
	frameRecords    = 2
	frameEnd        = 3
	snapshotReading = 128 << 10
)

// ErrSnapshot says that something is no whole snapshot: cut, changed or of an
// unknown format. The text says where.
var ErrSnapshot = errors.New("damaged snapshot")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Changes grows with every batch of changes to what a snapshot holds. Beats and
// persistent instances are no part of that.
func (s *Store) Changes() uint64 { return s.recorded.Load() }

// Decisions is signalled after a change to what a snapshot holds that nobody
// repeats when the process forgets it: an operator's override, an explicit
// deregistration, the removal of a service with instances. Registrations come
// again with the beats. Several changes may be one signal; it is for one receiver.
func (s *Store) Decisions() <-chan struct{} { return s.decisions }

func (s *Store) signalDecision() {
	select {
	case s.decisions <- struct{}{}:
	default: // the one that is there will do
	}
}

// Snapshot writes the ephemeral instances of all services, with both registers,
// their versions, ids and health, and returns how many. What persistent
// instances, services and clusters are is the replicated state's to keep, and
// the tombstones of deregistered instances live too briefly to matter. It reads
// revisions and so holds up nobody; each service is as it was at one moment.
func (s *Store) Snapshot(w io.Writer) (records int, err error) {
	if _, err := io.WriteString(w, snapshotMagic); err != nil {
		return 0, fmt.Errorf("write snapshot: %w", err)
	}
	f := frameWriter{w: w}
	f.begin(frameClock)
	f.buf = binary.AppendUvarint(f.buf, s.clock.last.Load())
	f.end()
	for e := range s.index.Load().values() {
		records += f.service(e.revision.Load())
	}
	f.begin(frameEnd)
	f.buf = binary.AppendUvarint(f.buf, uint64(records))
	f.end()
	if f.err != nil {
		return 0, fmt.Errorf("write snapshot: %w", f.err)
	}
	return records, nil
}

// frameWriter writes one frame after the other until the first error.
type frameWriter struct {
	w   io.Writer
	buf []byte
	err error
}

func (f *frameWriter) begin(kind byte) { f.buf = append(f.buf[:0], 0, 0, 0, 0, 0, 0, 0, 0, kind) }

func (f *frameWriter) end() {
	if f.err != nil {
		return
	}
	binary.LittleEndian.PutUint32(f.buf, uint32(len(f.buf)-frameHead))
	binary.LittleEndian.PutUint32(f.buf[4:], frameChecksum(f.buf[:4], f.buf[frameHead:]))
	_, f.err = f.w.Write(f.buf)
}

// service writes the records of a service and returns how many.
func (f *frameWriter) service(r *Revision) (records int) {
	open := false
	for i := range r.Ephemeral() {
		if f.err != nil {
			return records
		}
		if !open {
			f.begin(frameRecords)
			f.buf = appendService(f.buf, r.key)
			open = true
		}
		f.buf = appendRecord(f.buf, i)
		records++
		if len(f.buf) >= frameTarget {
			f.end()
			open = false
		}
	}
	if open {
		f.end()
	}
	return records
}

func frameChecksum(length, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, payload)
}

// RestoreSnapshot merges what [Store.Snapshot] wrote into the store and returns
// how many records that was. Each instance has a full timeout from now, whatever
// time went by since, and new versions are later than all that the writer made.
// What is no whole snapshot is ErrSnapshot and changes nothing; single records
// that cannot be are skipped and reported, joined.
func (s *Store) RestoreSnapshot(r io.Reader) (records int, err error) {
	snapshot, err := readSnapshot(bufio.NewReaderSize(r, snapshotReading))
	if err != nil {
		return 0, fmt.Errorf("restore snapshot: %w", err)
	}
	s.clock.resume(snapshot.clock)
	s.expect(func(yield func(wire.ServiceKey) bool) {
		for i := range snapshot.services {
			if !yield(snapshot.services[i].key) {
				return
			}
		}
	})
	var errs []error
	for _, service := range snapshot.services {
		errs = append(errs, s.Merge(service.key, service.records...))
	}
	return snapshot.records, errors.Join(errs...)
}

// snapshotData is a snapshot in memory.
type snapshotData struct {
	clock    uint64
	records  int
	services []serviceRecords
}

type serviceRecords struct {
	key     wire.ServiceKey
	records []Record
}

func readSnapshot(r io.Reader) (*snapshotData, error) {
	magic := make([]byte, len(snapshotMagic))
	if _, err := io.ReadFull(r, magic); err != nil {
		return nil, cut(err, 0)
	}
	if string(magic) != snapshotMagic {
		return nil, fmt.Errorf("%w: it does not begin as format 1 does, but with %q", ErrSnapshot, magic)
	}
	d := &snapshotData{}
	names := interned{}
	var payload []byte
	for at, last := int64(len(magic)), byte(0); last != frameEnd; {
		var err error
		if payload, err = readFrame(r, at, payload); err != nil {
			return nil, err
		}
		if err := d.add(payload, last, names); err != nil {
			return nil, fmt.Errorf("%w: frame at byte %d: %w", ErrSnapshot, at, err)
		}
		last = payload[0]
		at += frameHead + int64(len(payload))
	}
	if _, err := io.ReadFull(r, magic[:1]); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it goes on after its end", ErrSnapshot)
	}
	return d, nil
}

// readFrame returns the payload of the frame that begins at byte at. It takes no
// more memory than there is to read, whatever the length says.
func readFrame(r io.Reader, at int64, buf []byte) ([]byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, cut(err, at)
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length == 0 || length > frameLimit {
		return nil, fmt.Errorf("%w: frame at byte %d: a length of %d", ErrSnapshot, at, length)
	}
	buf = buf[:0]
	for left := int(length); left > 0; {
		step := min(left, snapshotReading)
		start := len(buf)
		buf = append(buf, make([]byte, step)...)
		if _, err := io.ReadFull(r, buf[start:]); err != nil {
			return nil, cut(err, at)
		}
		left -= step
	}
	if frameChecksum(head[:4], buf) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, fmt.Errorf("%w: frame at byte %d: wrong checksum", ErrSnapshot, at)
	}
	return buf, nil
}

// cut tells a snapshot that ends too early from one that cannot be read.
func cut(err error, at int64) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends in the frame at byte %d", ErrSnapshot, at)
	}
	return err
}

var (
	errFrameOrder   = errors.New("not its place")
	errFrameContent = errors.New("malformed content")
)

// add takes the next frame in; last is the kind of the one before, 0 for none.
func (d *snapshotData) add(payload []byte, last byte, names interned) error {
	b := frameReader{rest: payload[1:], names: names}
	switch kind := payload[0]; {
	case (kind == frameClock) != (last == 0):
		return errFrameOrder
	case kind == frameClock:
		d.clock = b.clock()
	case kind == frameRecords:
		d.addRecords(&b)
	case kind == frameEnd:
		if n := b.uvarint(); n != uint64(d.records) {
			return fmt.Errorf("%d records instead of %d", d.records, n)
		}
	default:
		return fmt.Errorf("kind %d is unknown", kind)
	}
	if b.failed || len(b.rest) > 0 {
		return errFrameContent
	}
	return nil
}

func (d *snapshotData) addRecords(b *frameReader) {
	k := b.service()
	if n := len(d.services); n == 0 || d.services[n-1].key != k {
		d.services = append(d.services, serviceRecords{key: k})
	}
	service := &d.services[len(d.services)-1]
	for len(b.rest) > 0 && !b.failed {
		service.records = append(service.records, b.record())
		d.records++
	}
}
