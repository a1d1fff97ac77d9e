package snapshot

import (
	"errors"
	"io"
	"sync"
	"time"
)

// faulty is a store whose disk fails while broken.
type faulty struct {
	mu       sync.Mutex
	changes  uint64
	broken   bool
	attempts int
	restore  error
	records  int
	// slow is how long writing takes; decisions and times are for what is urgent.
	slow      time.Duration
	decisions chan struct{}
	times     []time.Time
}

var errDisk = errors.New("no space left")

func (f *faulty) set(broken bool) { f.mu.Lock(); defer f.mu.Unlock(); f.broken = broken; f.changes++ }

func (f *faulty) Changes() uint64 { f.mu.Lock(); defer f.mu.Unlock(); return f.changes }

func (f *faulty) Snapshot(w io.Writer) (int, error) {
	begun := time.Now()
	<-time.After(f.slow) // in the virtual time of the tests
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attempts++
	f.times = append(f.times, begun)
	_, err := io.WriteString(w, "half")
	if f.broken {
		err = errDisk
	}
	return 1, err
}

func (f *faulty) Decisions() <-chan struct{} { return f.decisions }

func (f *faulty) written() int { f.mu.Lock(); defer f.mu.Unlock(); return f.attempts }

// decide makes a change that must not wait.
func (f *faulty) decide() {
	f.set(f.broken)
	select {
	case f.decisions <- struct{}{}:
	default:
	}
}

func (f *faulty) RestoreSnapshot(io.Reader) (int, error) { return f.records, f.restore }
