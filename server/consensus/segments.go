package consensus

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listName is the name of the list of segments, in the directory of the log.
const listName = "segments"

// segmentListing is the kind of the file that the list of segments is in.
var segmentListing = seal{magic: 0x53474553 /* "SEGS" */, format: 1, what: "the list of log files"}

// segmentList says which files the log consists of. Without it the newest ones
// could get lost and nobody would notice: entries end somewhere in any case.
//
// A file gets on the list before an entry is written to it and leaves the list
// before it is deleted. So each file on the list is there, and one that is not on
// it is either behind First, on its way out, or has no entries.
type segmentList struct {
	// First is the index of the first entry that was not deleted; all before it are
	// in a snapshot. A file may still have some of those.
	First uint64 `json:"first"`
	// Last is an entry up to which the log reached, synced, when the list was
	// written; 0 for an empty log. The list is written for each new file and when the
	// process ends in good order, not for each entry.
	Last uint64 `json:"last"`
	// Segments are the indexes by which the files are named, ascending.
	Segments []uint64 `json:"segments"`
}

// createList makes the list of an empty log.
func createList(dir string) error {
	content, err := segmentListing.encode(segmentList{})
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, listName), content)
}

// readList reads the list. There is one in every directory that was used.
func readList(dir string) (segmentList, error) {
	path := filepath.Join(dir, listName)
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return segmentList{}, &DamageError{File: path, Reason: "the list of log files is missing"}
	case err != nil:
		return segmentList{}, fmt.Errorf("read the list of log files: %w", err)
	}
	var list segmentList
	return list, segmentListing.decode(path, content, &list)
}

// writeList replaces the list by one of these segments. When it fails and the log
// has not, the list is as it was.
func (l *logStore) writeList(first, last uint64, segments []*segment) error {
	list := segmentList{First: first, Last: last, Segments: make([]uint64, len(segments))}
	for i, s := range segments {
		list.Segments[i] = s.first
	}
	content, err := segmentListing.encode(list)
	if err != nil {
		return err
	}
	return l.replace(filepath.Join(l.dir, listName), content)
}

// replace puts a file there, durably. When it fails and the log has not, there is
// what was there before.
func (l *logStore) replace(path string, content []byte) error {
	if err := l.disk.place(path, content); err != nil {
		return err
	}
	if err := l.disk.syncDir(l.dir); err != nil {
		// Which of the two a crash leaves is unknown, and a second sync would not tell.
		return l.fail(fmt.Errorf("sync the directory of the log: %w", err))
	}
	return nil
}

// load reads and checks all segments.
func (l *logStore) load() error {
	if err := removeUnfinished(l.dir); err != nil {
		return err
	}
	list, err := readList(l.dir)
	if err != nil {
		return err
	}
	l.first = list.First
	var torn int64
	for i, first := range list.Segments {
		path := segmentPath(l.dir, first)
		s, cut, err := openSegment(path, first, i == len(list.Segments)-1, l.disk)
		if errors.Is(err, fs.ErrNotExist) {
			return &DamageError{File: path, Reason: fmt.Sprintf("the file is missing, and with it the log from entry %d", first)}
		}
		if err != nil {
			return err
		}
		l.segments = append(l.segments, s)
		if i > 0 {
			if end := l.segments[i-1].last(); end+1 != first {
				return &DamageError{
					File: l.segments[i-1].path, Offset: l.segments[i-1].size,
					Reason: fmt.Sprintf("the log goes from entry %d to entry %d; the end of this file is cut off", end, first),
				}
			}
		}
		torn = cut
		l.bytes.Add(s.size)
	}
	if len(list.Segments) > 0 {
		if err := l.cutTail(list, torn); err != nil {
			return err
		}
	}
	return l.removeUnlisted(list)
}

// cutTail cuts the torn bytes off the newest segment. They are what was being
// written when the process died, unless the log reached further before: that is a
// loss, of which one entry is accepted and said, as with any torn tail, and more
// are damage.
func (l *logStore) cutTail(list segmentList, torn int64) error {
	s, last := l.segments[len(l.segments)-1], l.last()
	where := []any{slog.String("file", s.path), slog.Int64("offset", s.size), slog.Int64("bytes", torn)}
	switch {
	case list.Last > last+1:
		return &DamageError{
			File: s.path, Offset: s.size,
			Reason: fmt.Sprintf("the end of the file is cut off, and with it the entries %d to %d", last+1, list.Last),
		}
	case list.Last == last+1:
		l.logger.Error("the end of the log is cut off; its last entry was acknowledged and is lost", where...)
	case torn > 0:
		l.logger.Warn("the end of the log was half written when the process died, and was cut off; it was never acknowledged", where...)
	}
	if torn > 0 {
		if err := s.truncate(s.size); err != nil {
			return err
		}
	}
	if list.Last > last {
		return l.writeList(list.First, last, l.segments)
	}
	return nil
}

// removeUnlisted removes the files that a crash kept from getting on the list, or
// from being deleted after they left it.
func (l *logStore) removeUnlisted(list segmentList) error {
	paths, err := filepath.Glob(filepath.Join(l.dir, "*"+segmentSuffix))
	if err != nil {
		return fmt.Errorf("list the log: %w", err)
	}
	for _, path := range paths {
		first, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(path), segmentSuffix), 10, 64)
		if err != nil || path != segmentPath(l.dir, first) {
			return &DamageError{File: path, Reason: "the name is not the index of an entry"}
		}
		if slices.Contains(list.Segments, first) {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("look at the log: %w", err)
		}
		if first >= list.First && info.Size() > segmentHeader {
			return &DamageError{File: path, Reason: "the file has entries and is not on the list of log files"}
		}
		l.logger.Debug("a log file that a crash kept from being removed is removed", slog.String("file", path))
		if err := l.disk.remove(path); err != nil {
			return fmt.Errorf("remove an old log file: %w", err)
		}
	}
	return nil
}
