package consensus

import "fmt"

// DeleteRange implements [raft.LogStore] for what raft does with it: entries are
// deleted from the front, which removes whole segments, or from the back.
func (l *logStore) DeleteRange(from, to uint64) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.failed != nil {
		return l.failed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch last := l.last(); {
	case len(l.segments) == 0 || to < l.first || from > last:
		return nil
	case from <= l.first:
		return l.deleteFront(to)
	case to >= last:
		return l.deleteBack(from)
	}
	return fmt.Errorf("entries %d to %d are in the middle of the log", from, to)
}

// clear deletes everything, when the newest snapshot has more.
func (l *logStore) clear() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deleteFront(l.last())
}

// deleteFront deletes the entries up to and with to. The list goes first: what is
// not on it and behind its first entry is removed at the next start, if it is not
// removed here.
func (l *logStore) deleteFront(to uint64) error {
	keep := 0
	for keep < len(l.segments) && l.segments[keep].last() <= to {
		keep++
	}
	first := to + 1
	if to >= l.last() {
		// A restored backup: the log goes on behind its snapshot. Without that the
		// loss of the snapshot would not be noticed.
		keep, first = len(l.segments), max(first, l.first, l.covered()+1)
	}
	if keep > 0 {
		last := l.last()
		if keep == len(l.segments) {
			last = 0
		}
		if err := l.writeList(first, last, l.segments[keep:]); err != nil {
			return err
		}
	}
	l.first = first
	var failed error
	for _, s := range l.segments[:keep] {
		l.bytes.Add(-s.size)
		if err := s.remove(); err != nil {
			failed = err // it costs room and nothing else
		}
	}
	l.segments = l.segments[keep:]
	return failed
}

// deleteBack deletes the entries from from. Files that are in the way are emptied,
// taken from the list and removed one by one, so that the log has no gap at any
// moment and no file with entries is unlisted.
func (l *logStore) deleteBack(from uint64) error {
	if err := l.writeList(l.first, from-1, l.segments); err != nil { // no longer missed
		return err
	}
	for {
		n := len(l.segments) - 1
		s := l.segments[n]
		if err := l.cut(s, from); err != nil {
			return l.fail(err)
		}
		if s.first < from {
			return nil
		}
		if err := l.writeList(l.first, from-1, l.segments[:n]); err != nil {
			return err
		}
		l.segments = l.segments[:n]
		l.bytes.Add(-s.size)
		if err := s.remove(); err != nil {
			return err
		}
	}
}

// cut removes the entries of a segment from from.
func (l *logStore) cut(s *segment, from uint64) error {
	if from > s.last() {
		return nil
	}
	keep := int(max(from, s.first) - s.first)
	size := s.offsets[keep]
	if err := s.truncate(size); err != nil {
		return err
	}
	l.bytes.Add(size - s.size)
	s.offsets, s.size = s.offsets[:keep], size
	return nil
}
