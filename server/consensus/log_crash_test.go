package consensus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var errCrashed = errors.New("the process is dead")

// mortal is operations that end after some steps: from then on nothing happens,
// as if the process had been killed there. A step is the smallest thing that a
// kill can come after.
type mortal struct{ left int }

func (m *mortal) step() error {
	if m.left == 0 {
		return errCrashed
	}
	m.left--
	return nil
}

func (m *mortal) operations() *operations {
	real := newOperations()
	then := func(act func() error) error {
		if err := m.step(); err != nil {
			return err
		}
		return act()
	}
	return &operations{
		writeAt: func(f *os.File, p []byte, offset int64) error {
			return errors.Join(
				then(func() error { return real.writeAt(f, p[:len(p)/2], offset) }),
				then(func() error { return real.writeAt(f, p, offset) }),
			)
		},
		sync:     func(*os.File) error { return then(func() error { return nil }) },
		truncate: func(f *os.File, size int64) error { return then(func() error { return real.truncate(f, size) }) },
		place: func(path string, content []byte) error {
			return errors.Join(
				then(func() error { return os.WriteFile(path+unfinished, content[:len(content)/2], fileMode) }),
				then(func() error { return os.WriteFile(path+unfinished, content, fileMode) }),
				then(func() error { return os.Rename(path+unfinished, path) }),
			)
		},
		syncDir: func(string) error { return then(func() error { return nil }) },
		remove:  func(path string) error { return then(func() error { return real.remove(path) }) },
	}
}

// action changes a log.
type action struct {
	// kind is append (n entries), jump (as after a restored backup: everything is
	// deleted, and the next entry is n further on), front (all but the last n
	// entries are deleted) or back (the last n are).
	kind string
	n    int
}

// mirror is what a log must have.
type mirror struct {
	first, next uint64
	data        map[uint64]string
	writes      int
}

// run does one action. After errCrashed the mirror has what must be there:
// deleted entries may be, too, and so may entries that were not acknowledged.
func (m *mirror) run(l *logStore, a action) error {
	switch a.kind {
	case "append":
		batch := make([]*raft.Log, a.n)
		for i := range batch {
			m.writes++
			batch[i] = entry(m.next+uint64(i), fmt.Sprintf("the %d. that was written", m.writes))
		}
		if err := l.StoreLogs(batch); err != nil {
			return err
		}
		for _, e := range batch {
			m.data[e.Index] = string(e.Data)
			m.next++
		}
	case "front":
		return m.deleteFront(l, max(m.first, m.next-min(m.next, uint64(a.n))))
	case "jump":
		if err := m.deleteFront(l, m.next); err != nil {
			return err
		}
		m.next += uint64(a.n)
		m.first = m.next
	case "back":
		from := max(m.first+1, m.next-min(m.next, uint64(a.n)))
		if from >= m.next {
			return nil
		}
		to := m.next - 1
		for i := from; i <= to; i++ {
			delete(m.data, i)
		}
		m.next = from
		return l.DeleteRange(from, to)
	}
	return nil
}

func (m *mirror) deleteFront(l *logStore, to uint64) error {
	if to <= m.first {
		return nil
	}
	for i := m.first; i < to; i++ {
		delete(m.data, i)
	}
	from := m.first
	m.first = to
	return l.DeleteRange(from, to-1)
}

// check compares a log that was opened after the crash, and takes over what it
// may have beyond what it must have.
func (m *mirror) check(t require.TestingT, l *logStore) {
	for i, data := range m.data {
		var got raft.Log
		require.NoError(t, l.GetLog(i, &got), "entry %d", i)
		require.Equal(t, data, string(got.Data))
	}
	first, last := indexes(t, l)
	if last == 0 {
		require.Empty(t, m.data)
		m.first = m.next
		return
	}
	if len(m.data) == 0 {
		m.first = first
	}
	m.first, m.next = min(m.first, first), last+1
	for i := m.first; i <= last; i++ {
		var got raft.Log
		require.NoError(t, l.GetLog(i, &got), "entry %d", i)
		m.data[i] = string(got.Data)
	}
}

// crashAt runs the actions until the process dies after some steps and starts it
// again. It says whether it died.
func crashAt(t require.TestingT, dir string, m *mirror, actions []action, steps int) (died bool) {
	l := openTestLog(t, dir)
	l.rotateAt = 300
	l.disk = (&mortal{left: steps}).operations()
	for _, s := range l.segments {
		s.disk = l.disk
	}
	l.release() // errors are not held up
	for _, a := range actions {
		if err := m.run(l, a); err != nil {
			require.ErrorIs(t, err, errCrashed)
			died = true
			break
		}
	}
	for _, s := range l.segments {
		require.NoError(t, s.file.Close())
	}
	l, err := reopenLog(dir)
	require.NoError(t, err, "after %d steps of %v", steps, actions)
	m.check(t, l)
	l.rotateAt = 300
	require.NoError(t, m.run(l, action{"append", 3}))
	m.check(t, l)
	closeLog(t, l)
	l, err = reopenLog(dir)
	require.NoError(t, err)
	m.check(t, l)
	closeLog(t, l)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, len(l.listed())+1, "nothing is left over")
	return died
}

// listed returns the files of the log as the list has them.
func (l *logStore) listed() []uint64 {
	list, err := readList(l.dir)
	if err != nil {
		return nil
	}
	return list.Segments
}

// TestSB22_KillBetweenAnyTwoFileOperations ends the process after each step of
// what the log does with its files.
func TestSB22_KillBetweenAnyTwoFileOperations(t *testing.T) {
	grow := func(batches int) (all []action) {
		for range batches {
			all = append(all, action{"append", 2})
		}
		return all
	}
	for name, actions := range map[string][]action{
		"the first file":             {{"append", 1}},
		"new files":                  grow(8),
		"a cut behind a snapshot":    append(grow(12), action{"front", 3}, action{"append", 2}, action{"front", 1}),
		"a restored backup":          append(grow(8), action{"jump", 100}, action{"append", 2}),
		"a tail of another leader":   append(grow(12), action{"back", 17}, action{"append", 5}),
		"a tail within a file":       {{"back", 3}, {"append", 2}},
		"a file is made a 2nd time":  append(grow(12), action{"back", 4}, action{"append", 3}, action{"back", 3}, action{"append", 4}),
		"all of it, more than once":  append(grow(6), action{"front", 1}, action{"jump", 1}, action{"append", 9}, action{"back", 8}, action{"jump", 0}, action{"append", 1}),
		"nothing is left of a front": append(grow(6), action{"front", 0}, action{"append", 1}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := 0
			for ; ; steps++ {
				m := &mirror{first: 1, next: 1, data: map[uint64]string{}}
				dir := t.TempDir()
				if name != "the first file" { // it was stopped in good order before
					l := openTestLog(t, dir)
					require.NoError(t, m.run(l, action{"append", 5}))
					closeLog(t, l)
				}
				if !crashAt(t, dir, m, actions, steps) {
					break
				}
			}
			require.Greater(t, steps, 8)
			t.Logf("%d moments", steps)
		})
	}
}

// TestSB22_KillsOneAfterTheOther does the same with chance in it and more than one
// kill.
func TestSB22_KillsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(rt, err)
		m := &mirror{first: 1, next: 1, data: map[uint64]string{}}
		for range rapid.IntRange(1, 4).Draw(rt, "kills") {
			actions := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) action {
				return action{
					rapid.SampledFrom([]string{"append", "append", "append", "front", "back", "jump"}).Draw(rt, "kind"),
					rapid.IntRange(1, 12).Draw(rt, "n"),
				}
			}), 1, 12).Draw(rt, "actions")
			crashAt(rt, dir, m, actions, rapid.IntRange(0, 120).Draw(rt, "steps"))
		}
	})
}

// TestSB22_ALostFileIsNoticed: the files of the log that were there are there,
// whichever of them got lost, and however many.
func TestSB22_ALostFileIsNoticed(t *testing.T) {
	whole := t.TempDir()
	paths := filled(t, whole, 20)
	require.Greater(t, len(paths), 4)
	l := openTestLog(t, whole)
	require.NoError(t, l.DeleteRange(1, l.segments[0].last()+1)) // as behind a snapshot
	closeLog(t, l)
	paths = paths[1:]
	for from := range paths {
		for to := from + 1; to <= len(paths); to++ {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
			for _, path := range paths[from:to] {
				require.NoError(t, os.Remove(filepath.Join(dir, filepath.Base(path))))
			}
			_, err := reopenLog(dir)
			var damage *DamageError
			require.ErrorAs(t, err, &damage, "files %d to %d", from, to)
			require.Equal(t, filepath.Join(dir, filepath.Base(paths[from])), damage.File)
			require.ErrorContains(t, err, "the file is missing, and with it the log from entry")
		}
	}
}

func TestSB22_TheListOfLogFilesIsNeverGuessed(t *testing.T) {
	dir := t.TempDir()
	paths := filled(t, dir, 8)
	list := filepath.Join(dir, listName)
	whole, err := os.ReadFile(list)
	require.NoError(t, err)
	refused := func(what, file string) {
		t.Helper()
		_, err := reopenLog(dir)
		var damage *DamageError
		require.ErrorAs(t, err, &damage, what)
		require.Equal(t, file, damage.File)
		require.NoError(t, os.WriteFile(list, whole, fileMode))
	}
	for at := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 0x10
		require.NoError(t, os.WriteFile(list, damaged, fileMode))
		refused(fmt.Sprint("byte ", at), list)
		require.NoError(t, os.WriteFile(list, whole[:at], fileMode))
		refused(fmt.Sprint(at, " bytes"), list)
	}
	require.NoError(t, os.Remove(list))
	refused("it is gone", list)

	older, err := segmentListing.encode(segmentList{First: 1, Segments: []uint64{1}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(list, older, fileMode))
	refused("an older list", paths[1])
	closeLog(t, openTestLog(t, dir))
}
