package discovery

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// The failover switch, where Nacos' client has it: an operator who cannot get a
// registry to answer, or to answer rightly, puts lists into the folder
// [FailoverDir] below Options.Disk.Dir, and then "1" into its file
// [FailoverSwitch]. Within [FailoverCheck] each service that has a file there has
// the list of that file, whatever the sources say, and has the sources' again when
// the switch is "0" or gone. Services without a file are not touched.
//
// The files have any name that ends in ".json" and the form of the files in
// Options.Disk.Dir, from where they can be copied. One written by hand needs no
// checksum, and of an instance only ip and port:
//
//	{"format": 1, "list": {"name": "orders", "instances": [{"ip": "192.0.2.1", "port": 8080}]}}
//
// Namespace and group are the default ones unless "namespace" and "group" stand
// beside "name". Files that change while the switch is on are read again; one that
// cannot be read is reported and counts as not there. Of several for one service
// the first by name counts, and the others are reported.
const (
	FailoverDir    = "failover"
	FailoverSwitch = "00-00---000-VIPSRV_FAILOVER_SWITCH-000---00-00"
	FailoverCheck  = 5 * time.Second
)

// failoverList is an operator's list; immutable.
type failoverList struct {
	instances []registry.Instance
	at        time.Time
}

// failover is the switch and what is behind it. Its goroutine is the only one
// that changes it.
type failover struct {
	dir    string
	logger *slog.Logger
	on     atomic.Bool
	// lists are what is in force; replaced as a whole, under the client's lock.
	lists map[registry.ServiceID]*failoverList
	files map[string]failoverFile
	// wrong are the files that this check could not read, before those of the last
	// one.
	wrong, before map[string]bool
}

// failoverFile is a file that was read; its list is nil when it was of no use.
type failoverFile struct {
	size int64
	at   time.Time
	id   registry.ServiceID
	list *failoverList
	// behind is the file that counts instead, as it was reported; "" when this does.
	behind string
}

func newFailover(o Options) *failover {
	return &failover{dir: filepath.Join(o.Disk.Dir, FailoverDir), logger: o.Logger}
}

// watchFailover is the goroutine of the switch.
func (c *Client) watchFailover() {
	ticker := time.NewTicker(FailoverCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.checkFailover()
		case <-c.ctx.Done():
			return
		}
	}
}

// checkFailover brings all entries in line with the switch.
func (c *Client) checkFailover() {
	f := c.failover
	f.before, f.wrong = f.wrong, make(map[string]bool)
	on := f.switched()
	if on {
		f.read()
	} else {
		f.files = nil
	}
	lists := f.inForce()
	if was := f.on.Swap(on); was != on {
		f.logger.Warn("the failover switch was turned", slog.Bool("on", on), slog.Int("services", len(lists)))
	}
	c.mu.Lock()
	f.lists = lists
	entries := *c.entries.Load()
	c.mu.Unlock()
	for _, e := range entries {
		c.override(e, lists[e.id])
	}
}

// inForce returns the list of each service. Two files for one service would
// otherwise take turns at random.
func (f *failover) inForce() map[registry.ServiceID]*failoverList {
	lists := make(map[registry.ServiceID]*failoverList, len(f.files))
	first := make(map[registry.ServiceID]string, len(f.files))
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		file := f.files[name]
		if file.list == nil {
			continue
		}
		before := first[file.id]
		if before == "" {
			first[file.id], lists[file.id] = name, file.list
		} else if before != file.behind {
			f.logger.Warn("two failover lists are for one service, the first by name counts",
				slog.String("service", file.id.String()), slog.String("file", before), slog.String("ignored", name))
		}
		file.behind = before
		f.files[name] = file
	}
	return lists
}

// override puts an operator's list, or none, over that of the sources.
func (c *Client) override(e *entry, list *failoverList) {
	e.mu.Lock()
	if e.dropped || e.override == list {
		e.mu.Unlock()
		return
	}
	e.override = list
	f := effect{changed: e.show(time.Now()), snapshot: e.current.Load()}
	c.follow(e, f, time.Now())
	if f.snapshot == nil {
		c.refetch(e)
	}
	e.mu.Unlock()
	c.logEffect(f)
}

// switched reads the switch. One that is there and cannot be read stays as it was:
// the process may be out of file descriptors, which is no moment to change lists.
func (f *failover) switched() bool {
	path := filepath.Join(f.dir, FailoverSwitch)
	text, _, err := readFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.complain("the failover switch cannot be read, it stays as it was", path, err)
		return f.on.Load()
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first) == "1"
}

// complain logs what is wrong with a file once, for as long as each check finds it.
func (f *failover) complain(message, path string, err error) {
	f.wrong[path] = true
	if !f.before[path] {
		f.logger.Warn(message, slog.String("file", path), slog.Any("error", err))
	}
}

// read reads the files that are new or changed.
func (f *failover) read() {
	dir, err := os.ReadDir(f.dir)
	if err != nil {
		f.complain("the failover lists cannot be read", f.dir, err)
		return
	}
	files := make(map[string]failoverFile, len(dir))
	for _, item := range dir {
		if filepath.Ext(item.Name()) != fileSuffix {
			continue
		}
		// What a link leads to counts: a mounted configuration is a folder of links
		// that stay as they are.
		info, err := os.Stat(filepath.Join(f.dir, item.Name()))
		if err != nil || !info.Mode().IsRegular() {
			continue // it went away, or would be waited for
		}
		old, known := f.files[item.Name()]
		if known && old.size == info.Size() && old.at.Equal(info.ModTime()) {
			files[item.Name()] = old
			continue
		}
		if file, ok := f.readList(item.Name(), info); ok {
			files[item.Name()] = file
		} else if known {
			files[item.Name()] = old // and is read again
		}
	}
	f.files = files
}

// readList reads one file; false when it cannot be read at the moment.
func (f *failover) readList(name string, info fs.FileInfo) (failoverFile, bool) {
	file := failoverFile{size: info.Size(), at: info.ModTime()}
	path := filepath.Join(f.dir, name)
	text, _, err := readFile(path)
	if errors.As(err, new(*fs.PathError)) {
		f.complain("a failover list cannot be read", path, err)
		return file, false
	}
	var instances []registry.Instance
	if err == nil {
		file.id, instances, _, err = decodeList(text, true)
	}
	if err != nil {
		f.logger.Warn("a failover list cannot be used", slog.String("file", path), slog.Any("error", err))
		return file, true
	}
	file.list = &failoverList{instances: arrange(file.id, instances), at: file.at}
	return file, true
}
