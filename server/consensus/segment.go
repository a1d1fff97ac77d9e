package consensus

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
)

// A segment is one file of the log: a header and consecutive records. Its name
// is the index of its first entry.
type segment struct {
	path    string
	file    *os.File
	disk    *operations
	first   uint64
	offsets []int64 // of the records
	size    int64   // of the synced part: the end of the last record
}

// The header of a segment: magic, index of the first entry, checksum of both.
const (
	segmentMagic  = "RCLLOG01"
	segmentHeader = 20
	segmentSuffix = ".log"
	// unfinished is the suffix of a file that is being written beside the one it
	// is to become.
	unfinished = ".tmp"
)

// last is the index of the last entry, first-1 if there is none.
func (s *segment) last() uint64 { return s.first + uint64(len(s.offsets)) - 1 }

// end is where the record of the entry ends.
func (s *segment) end(i int) int64 {
	if i+1 < len(s.offsets) {
		return s.offsets[i+1]
	}
	return s.size
}

func segmentPath(dir string, first uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", first, segmentSuffix))
}

// createSegment makes an empty segment; it is there as a whole or not at all.
func (l *logStore) createSegment(first uint64) (*segment, error) {
	head := append([]byte(segmentMagic), binary.LittleEndian.AppendUint64(nil, first)...)
	head = binary.LittleEndian.AppendUint32(head, checksum(head))
	path := segmentPath(l.dir, first)
	if err := l.replace(path, head); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR, fileMode)
	if err != nil {
		return nil, fmt.Errorf("open a new log file: %w", err)
	}
	return &segment{path: path, file: file, disk: l.disk, first: first, size: segmentHeader}, nil
}

// openSegment reads a segment. If it is the newest one, it may have a torn tail;
// torn is how many bytes that is.
func openSegment(path string, first uint64, newest bool, disk *operations) (s *segment, torn int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read the log: %w", err)
	}
	if len(data) < segmentHeader || string(data[:8]) != segmentMagic ||
		binary.LittleEndian.Uint32(data[16:]) != checksum(data[:16]) ||
		binary.LittleEndian.Uint64(data[8:]) != first {
		return nil, 0, &DamageError{File: path, Reason: "this is not the header of this log file"}
	}
	offsets, end, tail, damage := scan(data, segmentHeader, first)
	switch {
	case damage != "":
		return nil, 0, &DamageError{File: path, Offset: int64(end), Reason: damage}
	case tail && !newest:
		return nil, 0, &DamageError{
			File: path, Offset: int64(end),
			Reason: fmt.Sprintf("entry %d is cut off, and intact log files follow", first+uint64(len(offsets))),
		}
	}
	file, err := os.OpenFile(path, os.O_RDWR, fileMode)
	if err != nil {
		return nil, 0, fmt.Errorf("open the log: %w", err)
	}
	s = &segment{path: path, file: file, disk: disk, first: first, offsets: offsets, size: int64(end)}
	return s, int64(len(data) - end), nil
}

// truncate cuts the file at size and syncs it.
func (s *segment) truncate(size int64) error {
	if err := s.disk.truncate(s.file, size); err != nil {
		return fmt.Errorf("cut the log: %w", err)
	}
	if err := s.disk.sync(s.file); err != nil {
		return fmt.Errorf("cut the log: %w", err)
	}
	return nil
}

// remove deletes the file.
func (s *segment) remove() error {
	_ = s.file.Close()
	if err := s.disk.remove(s.path); err != nil {
		return fmt.Errorf("remove an old log file: %w", err)
	}
	return nil
}
