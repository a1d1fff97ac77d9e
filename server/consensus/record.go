package consensus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// A record is one log entry in a segment: a header of recordHeader bytes and the
// payload. All numbers are little endian.
//
//	 0  magic, by which records are found again behind damage
//	 4  length of the payload
//	 8  index of the entry
//	16  index of the first entry of its batch: what is written and synced at once
//	24  checksum of the payload
//	28  checksum of the bytes before
const (
	recordMagic  = 0x31474c52 // "RLG1"
	recordHeader = 32
)

type recordHead struct {
	length       uint32
	index, batch uint64
	sum          uint32
}

// appendRecord appends the record of an entry.
func appendRecord(dst []byte, l *raft.Log, batch uint64) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, recordHeader)...)
	dst = append(dst, byte(l.Type))
	dst = binary.LittleEndian.AppendUint64(dst, l.Term)
	var at int64
	if !l.AppendedAt.IsZero() {
		at = l.AppendedAt.UnixNano()
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(at))
	dst = binary.AppendUvarint(dst, uint64(len(l.Extensions)))
	dst = append(dst, l.Extensions...)
	dst = append(dst, l.Data...)

	head, payload := dst[start:start+recordHeader], dst[start+recordHeader:]
	binary.LittleEndian.PutUint32(head[0:], recordMagic)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint64(head[8:], l.Index)
	binary.LittleEndian.PutUint64(head[16:], batch)
	binary.LittleEndian.PutUint32(head[24:], checksum(payload))
	binary.LittleEndian.PutUint32(head[28:], checksum(head[:28]))
	return dst
}

// readHead reads a header; ok says that it is intact.
func readHead(data []byte) (h recordHead, ok bool) {
	if len(data) < recordHeader || binary.LittleEndian.Uint32(data) != recordMagic ||
		binary.LittleEndian.Uint32(data[28:]) != checksum(data[:28]) {
		return recordHead{}, false
	}
	return recordHead{
		length: binary.LittleEndian.Uint32(data[4:]),
		index:  binary.LittleEndian.Uint64(data[8:]),
		batch:  binary.LittleEndian.Uint64(data[16:]),
		sum:    binary.LittleEndian.Uint32(data[24:]),
	}, true
}

// readRecord reads the record at the beginning of data; ok says that all of it is
// intact.
func readRecord(data []byte) (h recordHead, payload []byte, ok bool) {
	h, ok = readHead(data)
	if !ok || uint64(len(data)-recordHeader) < uint64(h.length) {
		return h, nil, false
	}
	payload = data[recordHeader : recordHeader+int(h.length)]
	return h, payload, checksum(payload) == h.sum
}

// decodePayload fills an entry whose checksum was right. The entry refers to the
// payload, which must not be changed afterwards.
func decodePayload(index uint64, payload []byte, l *raft.Log) error {
	if len(payload) < 17 {
		return errors.New("the entry is shorter than its fields")
	}
	rest := payload[17:]
	extensions, n := binary.Uvarint(rest)
	if n <= 0 || extensions > uint64(len(rest)-n) {
		return errors.New("the entry is shorter than its fields")
	}
	rest = rest[n:]
	*l = raft.Log{Index: index, Type: raft.LogType(payload[0]), Term: binary.LittleEndian.Uint64(payload[1:])}
	if at := int64(binary.LittleEndian.Uint64(payload[9:])); at != 0 {
		l.AppendedAt = time.Unix(0, at)
	}
	if extensions > 0 {
		l.Extensions = rest[:extensions:extensions]
	}
	l.Data = rest[extensions:]
	return nil
}

// scan reads the records of a segment that begin at from, of which the first has
// the index first. offsets are where the intact ones are and end is where they
// stop. If that is not the end of data, the rest is either torn, the remains of
// a write that was never acknowledged, or damage.
func scan(data []byte, from int, first uint64) (offsets []int64, end int, torn bool, damage string) {
	end = from
	for end < len(data) {
		expected := first + uint64(len(offsets))
		h, _, ok := readRecord(data[end:])
		if !ok {
			torn, damage = judge(data, end, expected)
			return offsets, end, torn, damage
		}
		if h.index != expected {
			return offsets, end, false, fmt.Sprintf("entry %d stands where entry %d belongs", h.index, expected)
		}
		offsets = append(offsets, int64(end))
		end += recordHeader + int(h.length)
	}
	return offsets, end, false, ""
}

// holdsCommand says whether there is an intact entry with a command anywhere in
// data: something that can have been acknowledged.
func holdsCommand(data []byte) bool {
	for at, h, found := findRecord(data, 0, 0); found; at, h, found = findRecord(data, at+1, 0) {
		var entry raft.Log
		_, payload, _ := readRecord(data[at:])
		if decodePayload(h.index, payload, &entry) == nil && entry.Type == raft.LogCommand {
			return true
		}
	}
	return false
}

// judge says whether the unreadable record at offset is what a crash leaves of a
// write, or damage. A batch is written only after the one before was synced, so
// what a crash tears is in the last batch: a prefix of it, or, when the power
// failed, all of it with holes of zeros where pages never reached the disk.
// Everything else was whole once.
func judge(data []byte, offset int, expected uint64) (torn bool, damage string) {
	follows := func(at int, h recordHead) string {
		return fmt.Sprintf("entry %d does not match its checksum, and intact entries follow (entry %d at offset %d)", expected, h.index, at)
	}
	first, same, found := findRecord(data, offset+1, expected)
	for at, h, more := first, same, found; more; at, h, more = findRecord(data, at+1, expected) {
		if h.batch > expected {
			return false, follows(at, h)
		}
	}
	switch {
	case found && hole(data, offset, first):
		return true, ""
	case found:
		return false, follows(first, same)
	}
	rest := data[offset:]
	h, ok := readHead(rest)
	switch {
	case len(rest) < recordHeader, // the header is cut off
		ok && uint64(len(rest)-recordHeader) < uint64(h.length), // the payload is
		hole(data, offset, len(data)):
		return true, ""
	}
	return false, fmt.Sprintf("entry %d, the last one, is complete and does not match its checksum", expected)
}

// findRecord looks for the next intact record of an entry after index.
func findRecord(data []byte, from int, index uint64) (at int, h recordHead, found bool) {
	magic := binary.LittleEndian.AppendUint32(nil, recordMagic)
	for from < len(data) {
		i := bytes.Index(data[from:], magic)
		if i < 0 {
			break
		}
		at = from + i
		if h, _, ok := readRecord(data[at:]); ok && h.index > index {
			return at, h, true
		}
		from = at + 1
	}
	return 0, recordHead{}, false
}

// hole says whether part of data[from:to] looks like a sector that was never
// written: zeros up to its borders. Shorter runs occur in entries.
func hole(data []byte, from, to int) bool {
	const sector, shortest = 512, 32
	for start := from; start < to; {
		end := min((start/sector+1)*sector, to)
		if end-start >= shortest && allZero(data[start:end]) {
			return true
		}
		start = end
	}
	return false
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
