package autoconfig

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/registry"
)

// settleTime is how long a file must have been left alone before it is read:
// editors and orchestrators write it in several steps.
const settleTime = 500 * time.Millisecond

const (
	// firstRetry is how soon a change that could not be made is tried again, such
	// as that of a weight while the registry is away. The pause doubles up to
	// longestRetry.
	firstRetry   = 5 * time.Second
	longestRetry = time.Minute
)

type reloaderParams struct {
	fx.In

	Reloader    *reloader
	Application ApplicationProperties
	Inside      *inside
	Offer       *offer `optional:"true"`
	Logger      *slog.Logger
}

// reloads is the time in which the configuration may be read again.
type reloads struct {
	reloaderParams
	watch *fileWatch
}

func newReloads(p reloaderParams) *reloads {
	r := p.Reloader
	return &reloads{p, &fileWatch{reload: r.reloadChanged, file: r.file(), seen: r.seen, retry: firstRetry, logger: p.Logger}}
}

// start has the reloader ready, and watch the file.
func (r *reloads) start() {
	r.Reloader.turn.Lock()
	r.Reloader.parts = &reloadParts{r.Inside, r.Offer, r.Logger}
	r.Reloader.turn.Unlock()
	if r.Application.ReloadOnChange && r.Reloader.watchable() {
		r.watch.start()
	}
}

// stop ends a reload in progress and waits for it.
func (r *reloads) stop() {
	r.Reloader.end()
	r.watch.stop()
	r.Reloader.turn.Lock()
	defer r.Reloader.turn.Unlock()
	r.Reloader.parts = nil
}

// watchable reports whether the document is a file.
func (r *reloader) watchable() bool { return r.name != "" && r.boot.sources.Text == "" }

// fileWatch reads the configuration again when its file has other content. It
// watches the folder, since files are replaced rather than written, and where
// they are links, as in Kubernetes, what they lead to is.
type fileWatch struct {
	reload func(ctx context.Context, why string) error
	file   string
	// seen reports whether a content of the file has been looked at, by whatever had
	// it read.
	seen func(content []byte) bool
	// retry is the first pause before a change is tried again.
	retry  time.Duration
	logger *slog.Logger

	watcher *fsnotify.Watcher // nil when it is not running
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// start begins to watch. Where the system does not let it, that is logged: the
// file can still be read again on request.
func (w *fileWatch) start() {
	file, err := filepath.Abs(w.file)
	if err == nil {
		w.watcher, err = fsnotify.NewWatcher()
	}
	if err == nil {
		if err = w.watcher.Add(filepath.Dir(file)); err != nil {
			_ = w.watcher.Close()
			w.watcher = nil
		}
	}
	if err != nil {
		w.logger.Warn("the configuration file is not watched, SIGHUP has it read again", slog.Any("error", err))
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.done.Go(func() { w.run(ctx, file) })
}

func (w *fileWatch) run(ctx context.Context, file string) {
	// The first look is for what changed between reading and watching.
	settled := time.NewTimer(settleTime)
	defer settled.Stop()
	retry, pause := time.NewTimer(w.retry), w.retry
	retry.Stop()
	defer retry.Stop()
	try := func(why string) {
		retry.Stop()
		if err := w.reload(ctx, why); mayPass(err) { // logged there
			retry.Reset(pause)
			pause = min(2*pause, longestRetry)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.watcher.Events:
			if !ok {
				return
			}
			settled.Reset(settleTime)
		case err, ok := <-w.watcher.Errors:
			if !ok {
				return
			}
			w.logger.Warn("watching the configuration file failed", slog.Any("error", err))
			settled.Reset(settleTime) // something may have been missed
		case <-settled.C:
			now, err := os.ReadFile(file)
			if err != nil || w.seen(now) {
				continue // between two steps of a replacement, or another file
			}
			pause = w.retry
			try("the file changed")
		case <-retry.C:
			try("the last attempt failed")
		}
	}
}

// mayPass reports whether what a reload failed for may be over later, as it is with
// a registry that is away, and not with what is wrong in the file or in the
// application's own code.
func mayPass(err error) bool {
	return err != nil && !errors.As(err, new(unreadable)) && !errors.As(err, new(*registry.CodeError)) &&
		!errors.Is(err, registry.ErrInvalidRegistration)
}

// stop ends the watch and waits for it.
func (w *fileWatch) stop() {
	if w.watcher == nil {
		return
	}
	w.cancel()
	_ = w.watcher.Close()
	w.done.Wait()
	w.watcher = nil
}
