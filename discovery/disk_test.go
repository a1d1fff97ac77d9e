package discovery_test

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

const ordersFile = "DEFAULT_GROUP@@orders.json"

// onDisk returns a client that keeps its lists in dir and loads them.
func onDisk(t *testing.T, dir string, s discovery.Source, change ...func(*discovery.Options)) *discovery.Client {
	t.Helper()
	o := discovery.Options{Sources: []discovery.Source{s}, Disk: discovery.Disk{Dir: dir, LoadAtStart: true}}
	for _, c := range change {
		c(&o)
	}
	return newClient(t, o)
}

// fill has a first process save the list of orders.
func fill(t *testing.T, dir string, instances ...registry.Instance) {
	t.Helper()
	c := onDisk(t, dir, newFake(instances...))
	snapshot(t, c)
	require.NoError(t, c.Close(), "it writes what is left to write")
}

func rich() registry.Instance {
	return inst(1, func(i *registry.Instance) {
		i.ID, i.Cluster, i.Weight, i.Healthy = "id#1", "BLUE", 2.5, false
		i.Metadata = map[string]string{"gRPC_port": "9090", "say": `"a&b<c>", ü`}
	})
}

func TestCR2_AProcessThatStartsInAnOutageHasTheListOfTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		dir := filepath.Join(t.TempDir(), "naming")
		fill(t, dir, rich(), inst(2))
		saved := time.Now()
		after(time.Hour)

		s := newFake()
		s.fail(errDown)
		c := onDisk(t, dir, s, func(o *discovery.Options) { o.Logger = log.logger() })
		e, _ := subscribe(t, c)
		got := snapshot(t, c)
		want := rich()
		want.Service = orders
		require.Equal(t, []registry.Instance{want, inst(2)}, got.Instances)
		require.Equal(t, discovery.OriginDisk, got.Origin)
		require.True(t, got.Stale())
		require.ErrorIs(t, got.Err, errDown)
		require.True(t, got.FetchedAt.Equal(saved))
		require.Len(t, e.all(), 1, "listeners get it, too")
		require.Contains(t, log.String(), "a list from the disk is in use")

		s.set(inst(3))
		after(time.Minute)
		require.Equal(t, []string{inst(3).IP}, addresses(snapshot(t, c)))
		require.False(t, snapshot(t, c).Stale())
		_, err := c.Snapshot(t.Context(), registry.ServiceID{Name: "nobody-saved"})
		require.NoError(t, err)
	})
}

// A registry that answers with weights that are no numbers has its lists saved like
// any other, with what each of them counts as.
func TestCR2_AWeightThatIsNoNumberIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		weighing := func(n byte, weight float64) registry.Instance {
			return inst(n, func(i *registry.Instance) { i.Weight = weight })
		}
		dir := t.TempDir()
		fill(t, dir, weighing(1, math.NaN()), weighing(2, math.Inf(1)), weighing(3, math.Inf(-1)), weighing(4, 2.5))
		s := newFake()
		s.fail(errDown)
		got := snapshot(t, onDisk(t, dir, s)).Instances
		require.Equal(t, []registry.Instance{weighing(1, 1), weighing(2, 10000), weighing(3, 0), weighing(4, 2.5)}, got)
	})
}

func TestCR2_TheRegistryIsAskedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, inst(1))
		c := onDisk(t, dir, newFake(inst(2)))
		require.Equal(t, []string{inst(2).IP}, addresses(snapshot(t, c)))
		s := newFake()
		s.fail(errDown)
		off := onDisk(t, dir, s, func(o *discovery.Options) { o.Disk.LoadAtStart = false })
		_, err := off.Snapshot(t.Context(), orders)
		require.ErrorIs(t, err, errDown, "not loaded unless asked for")
	})
}

func TestCR2_AgeOfASavedList(t *testing.T) {
	for name, tc := range map[string]struct {
		age       time.Duration
		tolerance discovery.FailureTolerance
		want      bool
	}{
		"young":                         {time.Hour, discovery.FailureTolerance{}, true},
		"young, without tolerance":      {time.Hour, discovery.FailureTolerance{Disabled: true}, true},
		"old":                           {25 * time.Hour, discovery.FailureTolerance{}, true},
		"old, without tolerance":        {25 * time.Hour, discovery.FailureTolerance{Disabled: true}, false},
		"old, beyond what is tolerated": {49 * time.Hour, discovery.FailureTolerance{MaxAge: 48 * time.Hour}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				fill(t, dir, inst(1))
				after(tc.age)
				s := newFake()
				s.fail(errDown)
				c := onDisk(t, dir, s, func(o *discovery.Options) { o.FailureTolerance = tc.tolerance })
				_, err := c.Snapshot(t.Context(), orders)
				require.Equal(t, tc.want, err == nil, "%v", err)
			})
		})
	}
}

func TestCR2_FilesAreWrittenWholeAndOnlyOnChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a", "b")
		path := filepath.Join(dir, ordersFile)
		s := newFake(inst(1))
		c := onDisk(t, dir, s)
		_, err := os.Stat(dir)
		require.ErrorIs(t, err, fs.ErrNotExist, "nothing to write, no folder")
		subscribe(t, c)
		first, err := os.Stat(path)
		require.NoError(t, err)
		folder, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o700), folder.Mode().Perm())
		require.Equal(t, fs.FileMode(0o600), first.Mode().Perm())

		after(time.Hour)
		same, err := os.Stat(path)
		require.NoError(t, err)
		require.True(t, os.SameFile(first, same), "the same list is not written again")
		after(6 * time.Hour)
		same, err = os.Stat(path)
		require.NoError(t, err)
		require.True(t, os.SameFile(first, same))
		require.Greater(t, same.ModTime().Sub(first.ModTime()), 6*time.Hour, "but that it was confirmed is noted")

		s.set(inst(1), inst(2))
		after(time.Minute)
		second, err := os.Stat(path)
		require.NoError(t, err)
		require.False(t, os.SameFile(first, second), "a change replaces the file")
		require.NoError(t, c.Close())

		again := onDisk(t, dir, newFake(inst(1), inst(2)))
		snapshot(t, again)
		require.NoError(t, again.Close())
		third, err := os.Stat(path)
		require.NoError(t, err)
		require.True(t, os.SameFile(second, third), "nor by the next process")

		empty := onDisk(t, dir, newFake())
		snapshot(t, empty)
		require.NoError(t, empty.Close())
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, files, "an empty list leaves no file, nor does a temporary one stay")
	})
}

func TestCR2_ACorruptFileIsSetAside(t *testing.T) {
	for name, damage := range map[string]func(text string) string{
		"empty":          func(string) string { return "" },
		"cut":            func(text string) string { return text[:len(text)/2] },
		"a flipped byte": func(text string) string { return strings.Replace(text, "192.0.2.1", "192.0.2.2", 1) },
		"no checksum":    func(text string) string { return strings.Replace(text, `"checksum"`, `"checksome"`, 1) },
		"zeroes":         func(text string) string { return strings.Repeat("\x00", len(text)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, ordersFile)
				fill(t, dir, inst(1))
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, []byte(damage(string(text))), 0o600))

				s := newFake()
				s.fail(errDown)
				var log logBuffer
				c := onDisk(t, dir, s, func(o *discovery.Options) { o.Logger = log.logger() })
				_, err = c.Snapshot(t.Context(), orders)
				require.ErrorIs(t, err, errDown)
				require.FileExists(t, path+".corrupt")
				require.NoFileExists(t, path)
				require.Contains(t, log.String(), "set aside")
			})
		})
	}
}

func TestCR2_AFileOfALaterFormatIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, ordersFile)
		require.NoError(t, os.WriteFile(path, []byte(`{"format":2,"payload":""}`), 0o600))
		s := newFake()
		s.fail(errDown)
		c := onDisk(t, dir, s)
		_, err := c.Snapshot(t.Context(), orders)
		require.ErrorIs(t, err, errDown)
		require.FileExists(t, path)
	})
}

// A list that lacks a source's share is not taken for what there is: the file keeps
// the whole one.
func TestCR2_AnIncompleteListIsNotSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		process := func(first, second *fakeSource) *discovery.Client {
			first.name, second.name = "first", "second"
			return onDisk(t, dir, first, func(o *discovery.Options) {
				o.Sources, o.Merge = []discovery.Source{first, second}, discovery.MergeUnion
			})
		}
		c := process(newFake(inst(1)), newFake(inst(2)))
		snapshot(t, c)
		require.NoError(t, c.Close())

		down := newFake()
		down.fail(errDown)
		c = process(down, newFake(inst(2)))
		require.Equal(t, []string{inst(2).IP}, addresses(snapshot(t, c)))
		after(12 * time.Hour)
		require.NoError(t, c.Close())

		s := newFake()
		s.fail(errDown)
		c = process(down, s)
		require.Equal(t, []string{inst(1).IP, inst(2).IP}, addresses(snapshot(t, c)))
	})
}

// What changed while a list was incomplete is in the file as soon as the list is
// whole again, though its content is the same then.
func TestCR2_AListThatIsWholeAgainIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		first, second := newFake(inst(1)), newFake(inst(2))
		union := func(o *discovery.Options) {
			o.Sources, o.Merge = []discovery.Source{first, second}, discovery.MergeUnion
		}
		first.name, second.name = "first", "second"
		c := onDisk(t, dir, first, union)
		subscribe(t, c)
		after(time.Minute)
		second.fail(errDown)
		first.set(inst(1), inst(3))
		after(time.Minute)
		require.True(t, snapshot(t, c).Stale())
		require.Len(t, snapshot(t, c).Instances, 3)
		second.set(inst(2))
		after(2 * time.Minute)
		require.False(t, snapshot(t, c).Stale())
		require.NoError(t, c.Close())

		first, second = newFake(), newFake()
		first.name, second.name = "first", "second"
		first.fail(errDown)
		second.fail(errDown)
		c = onDisk(t, dir, first, union)
		require.Equal(t, []string{inst(1).IP, inst(2).IP, inst(3).IP}, addresses(snapshot(t, c)))
	})
}

// A folder that cannot be written to is reported and disturbs nothing.
func TestCR2_AFolderThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		c := onDisk(t, filepath.Join(file, "naming"), newFake(inst(1)), func(o *discovery.Options) { o.Logger = log.logger() })
		subscribe(t, c)
		require.Len(t, snapshot(t, c).Instances, 1)
		require.Contains(t, log.String(), "could not be saved")
	})
}

// Two services never share a file, and a name is never a path.
func TestCR2_EveryServiceHasAFileOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		dir := filepath.Join(root, "naming")
		c := onDisk(t, dir, newFake(inst(1)))
		ids := []registry.ServiceID{
			{Name: "a"},
			{Name: "../a"},
			{Name: "a/b"},
			{Name: "a b"},
			{Name: "a+b"},
			{Name: "a@@b"},
			{Group: "a", Name: "b"},
			{Namespace: "dev", Name: "a"},
			{Namespace: "dev", Group: "a", Name: "b"},
			{Name: strings.Repeat("x", 500)},
			{Name: strings.Repeat("x", 501)},
		}
		for _, id := range ids {
			_, err := c.Snapshot(t.Context(), id)
			require.NoError(t, err)
		}
		require.NoError(t, c.Close())
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, files, len(ids))
		above, err := os.ReadDir(root)
		require.NoError(t, err)
		require.Len(t, above, 1)

		s := newFake()
		s.fail(errDown)
		again := onDisk(t, dir, s)
		for _, id := range ids {
			got, err := again.Snapshot(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, id.Normalize(), got.Service)
			require.Equal(t, id.Normalize(), got.Instances[0].Service)
		}
	})
}

// What is written is what is read.
func TestCR2_RoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		instances := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) registry.Instance {
			i := inst(rapid.ByteRange(0, 9).Draw(t, "n"))
			i.ID, i.Cluster = rapid.String().Draw(t, "id"), rapid.SampledFrom([]string{"A", "B"}).Draw(t, "cluster")
			i.Weight = rapid.Float64Range(0, 10000).Draw(t, "weight")
			i.Healthy, i.Enabled, i.Ephemeral = rapid.Bool().Draw(t, "h"), rapid.Bool().Draw(t, "e"), rapid.Bool().Draw(t, "p")
			i.Metadata = rapid.MapOfN(rapid.String(), rapid.String(), 1, 3).Draw(t, "metadata")
			return i
		}), 1, 5).Draw(rt, "instances")
		synctest.Test(t, func(t *testing.T) {
			c := onDisk(t, dir, newFake(instances...))
			want := snapshot(t, c)
			require.NoError(t, c.Close())
			s := newFake()
			s.fail(errDown)
			again := onDisk(t, dir, s)
			require.Equal(t, want.Instances, snapshot(t, again).Instances)
			require.NoError(t, again.Close())
		})
	})
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"format":1,"list":{"name":"orders","instances":[{"ip":"192.0.2.1","port":8080}]}}`))
	f.Add([]byte(`{"format":1,"checksum":"x","list":null}`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		failover := filepath.Join(dir, discovery.FailoverDir)
		require.NoError(t, os.Mkdir(failover, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, ordersFile), text, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(failover, ordersFile), text, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(failover, discovery.FailoverSwitch), []byte("1"), 0o600))
		for _, on := range []bool{false, true} {
			s := newFake()
			s.fail(errDown)
			c := onDisk(t, dir, s, func(o *discovery.Options) { o.Disk.Failover = on })
			if got, err := c.Snapshot(t.Context(), orders); err == nil {
				require.Equal(t, orders, got.Service)
			}
			require.NoError(t, c.Close())
		}
	})
}

func TestDefaultDir_RegistriesDoNotMix(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")
	dir := func(namespace string, addresses ...string) string {
		dir, err := discovery.DefaultDir(namespace, addresses...)
		require.NoError(t, err)
		require.Equal(t, "naming", filepath.Base(filepath.Dir(dir)), dir)
		return dir
	}
	one := dir("dev", "nacos-1:8848", "nacos-2:8848")
	require.Equal(t, one, dir("dev", " NACOS-2:8848/", "nacos-1:8848", "nacos-1:8848"), "order, case and repetition do not count")
	for _, other := range []string{
		dir("dev", "nacos-1:8848"), dir("dev", "nacos-1:8848", "nacos-3:8848"), dir("test", "nacos-1:8848", "nacos-2:8848"), dir("dev"),
	} {
		require.NotEqual(t, one, other)
	}
	for _, namespace := range []string{"..", ".", "a/b", strings.Repeat("n", 300)} {
		require.LessOrEqual(t, len(filepath.Base(dir(namespace, "x"))), 255)
	}
}

// A process that is killed while it writes leaves its unfinished file.
func TestCR2_LeftoversOfAKilledProcessAreRemoved(t *testing.T) {
	root := t.TempDir()
	at := func(name string, age time.Duration) string {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
		then := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(path, then, then))
		return path
	}
	old := at("lists/.list-1.tmp", 2*time.Hour)
	kept := []string{
		at("lists/.list-2.tmp", time.Minute), // another process is at it
		at("lists/"+ordersFile, 48*time.Hour), at("lists/mine.tmp", 48*time.Hour),
		at("other/.list-1.tmp", 48*time.Hour), at("lists/below/.list-1.tmp", 48*time.Hour),
	}
	require.NoError(t, os.Mkdir(filepath.Join(root, "lists/.list-3.tmp"), 0o700))
	require.NoError(t, onDisk(t, filepath.Join(root, "lists"), newFake(inst(1))).Close())
	require.NoFileExists(t, old)
	for _, path := range kept {
		require.FileExists(t, path)
	}
	require.DirExists(t, filepath.Join(root, "lists/.list-3.tmp"))
}
