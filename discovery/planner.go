package discovery

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

const (
	// maxPolls is how many services are fetched at the same time at most.
	maxPolls = 16
	// notPlanned is the index of an entry outside the queue.
	notPlanned = -1
)

// planner is the one timer of all polls (client rule C-R6): a queue of entries
// by due time, and one goroutine that waits for its head.
type planner struct {
	mu    sync.Mutex
	queue dueQueue
	// wake says that the head may have changed.
	wake chan struct{}
}

func newPlanner() *planner { return &planner{wake: make(chan struct{}, 1)} }

// set plans the entry, or moves it when it is planned already.
func (p *planner) set(e *entry, due time.Time) {
	p.mu.Lock()
	e.due = due
	if e.index == notPlanned {
		heap.Push(&p.queue, e)
	} else {
		heap.Fix(&p.queue, e.index)
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// remove takes the entry out; an entry that is not planned is no error.
func (p *planner) remove(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.index != notPlanned {
		heap.Remove(&p.queue, e.index)
	}
}

// dueAt returns when the entry is due; zero when it is not planned.
func (p *planner) dueAt(e *entry) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.index == notPlanned {
		return time.Time{}
	}
	return e.due
}

// next takes out the first entry if it is due; otherwise it returns how long to
// wait for it, and false when there is nothing to wait for.
func (p *planner) next(now time.Time) (e *entry, wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return nil, 0, false
	}
	if wait = p.queue[0].due.Sub(now); wait > 0 {
		return nil, wait, true
	}
	return heap.Pop(&p.queue).(*entry), 0, true
}

// run calls poll with each entry when it is due, until the context ends. No
// more than maxPolls are under way, that is, have not called landed.
func (p *planner) run(ctx context.Context, poll func(e *entry, landed func())) {
	slots := make(chan struct{}, maxPolls)
	landed := func() { <-slots }
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		e, wait, ok := p.next(time.Now())
		if e != nil {
			select {
			case slots <- struct{}{}:
				poll(e, landed)
			case <-ctx.Done():
			}
			continue
		}
		var tick <-chan time.Time
		if ok {
			timer.Reset(wait)
			tick = timer.C
		}
		select {
		case <-tick:
		case <-p.wake:
		case <-ctx.Done():
		}
	}
}

// dueQueue is a heap.Interface.
type dueQueue []*entry

func (q dueQueue) Len() int           { return len(q) }
func (q dueQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q dueQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *dueQueue) Push(x any) {
	e := x.(*entry)
	e.index = len(*q)
	*q = append(*q, e)
}

func (q *dueQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.index = notPlanned
	return e
}
