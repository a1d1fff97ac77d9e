package discovery

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
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
// cannot be read is reported and counts as not there.
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
}

// failoverFile is a file that was read; its list is nil when it was of no use.
type failoverFile struct {
	size int64
	at   time.Time
	id   registry.ServiceID
	list *failoverList
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
	on := f.switched()
	if on {
		f.read()
	} else {
		f.files = nil
	}
	if was := f.on.Swap(on); was != on {
		f.logger.Warn("the failover switch was turned", slog.Bool("on", on), slog.Int("services", len(f.files)))
	}
	lists := make(map[registry.ServiceID]*failoverList, len(f.files))
	for _, file := range f.files {
		if file.list != nil {
			lists[file.id] = file.list
		}
	}
	c.mu.Lock()
	f.lists = lists
	entries := *c.entries.Load()
	c.mu.Unlock()
	for _, e := range entries {
		c.override(e, lists[e.id])
	}
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

// switched reads the switch; what cannot be read is off.
func (f *failover) switched() bool {
	text, _, err := readFile(filepath.Join(f.dir, FailoverSwitch))
	first, _, _ := strings.Cut(string(text), "\n")
	return err == nil && strings.TrimSpace(first) == "1"
}

// read reads the files that are new or changed.
func (f *failover) read() {
	dir, err := os.ReadDir(f.dir)
	if err != nil {
		f.logger.Warn("the failover lists cannot be read", slog.Any("error", err))
		return
	}
	files := make(map[string]failoverFile, len(dir))
	for _, item := range dir {
		if filepath.Ext(item.Name()) != fileSuffix {
			continue
		}
		info, err := item.Info()
		if err != nil {
			continue // it went away
		}
		old, known := f.files[item.Name()]
		if known && old.size == info.Size() && old.at.Equal(info.ModTime()) {
			files[item.Name()] = old
			continue
		}
		files[item.Name()] = f.readList(item.Name(), info)
	}
	f.files = files
}

func (f *failover) readList(name string, info fs.FileInfo) failoverFile {
	file := failoverFile{size: info.Size(), at: info.ModTime()}
	text, _, err := readFile(filepath.Join(f.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return file
	}
	var instances []registry.Instance
	if err == nil {
		file.id, instances, _, err = decodeList(text, true)
	}
	if err != nil {
		f.logger.Warn("a failover list cannot be used", slog.String("file", name), slog.Any("error", err))
		return file
	}
	file.list = &failoverList{instances: arrange(file.id, instances), at: file.at}
	return file
}
