package naming

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// entry is the place of one service: its published revision and the door its
// writers go through.
type entry struct {
	store   *Store
	key     wire.ServiceKey
	grouped string // key.ServiceName.String()

	revision atomic.Pointer[Revision]

	mu      sync.Mutex
	pending []*change // waiting for the next batch
	writing bool      // somebody is the writer, or has been told to become it

	// What follows belongs to the active writer.

	// gone are explicitly deregistered instances, for a while.
	gone map[InstanceKey]tombstone
	ids  idNumbers
	// persistentIDs are numbered apart.
	persistentIDs idNumbers
	// dead says that the entry was taken out of the index; what comes later
	// starts anew with another one.
	dead bool

	// budget and idle belong to the expiry goroutine.
	budget removalBudget
	idle   int
}

// tombstone is what is left of an explicitly deregistered instance: a late beat
// must not bring it back (client case 8), an older write from a peer neither.
type tombstone struct {
	record record
	until  time.Duration // on the lease clock
}

// change is one writer's request.
type change struct {
	apply func(*draft) error
	err   error
	// turn wakes the waiting writer: false means done, true means that it is the
	// writer now.
	turn chan bool
}

var (
	errDead    = errors.New("service entry was removed meanwhile")
	errAborted = errors.New("the batch of changes was aborted")
)

// do applies a function to the service and returns when its effect is published.
//
// Writers combine: whoever finds nobody writing becomes the writer and applies
// all that is pending in one batch, the others wait for it. Afterwards the first
// of those who came meanwhile is the next writer, so nobody works for others
// for ever.
func (e *entry) do(apply func(*draft) error) error {
	c := &change{apply: apply, err: errAborted}
	e.mu.Lock()
	e.pending = append(e.pending, c)
	lead := !e.writing
	if lead {
		e.writing = true
	} else {
		c.turn = make(chan bool, 1)
	}
	e.mu.Unlock()

	if lead || <-c.turn {
		e.write()
	}
	return c.err
}

// write applies one batch. The caller is the writer.
func (e *entry) write() {
	e.mu.Lock()
	batch := e.pending
	e.pending = nil
	e.mu.Unlock()

	d := newDraft(e)
	changed := false
	defer func() { // also when a change panicked: a bug in one must not lock the service
		e.mu.Lock()
		var next *change
		if len(e.pending) > 0 {
			next = e.pending[0]
		} else {
			e.writing = false
		}
		e.mu.Unlock()
		if next != nil {
			next.turn <- true
		}
		for _, c := range batch[1:] {
			c.turn <- false
		}
		if changed {
			e.store.notify(e.key)
		}
		for _, i := range d.odd {
			e.store.warnings.oddIntervals(e.key, i)
		}
	}()

	for _, c := range batch {
		if e.dead {
			c.err = errDead
			continue
		}
		c.err = c.apply(d)
	}
	changed = d.publish()
}
