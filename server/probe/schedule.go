package probe

import "container/heap"

// schedule is a heap of targets by when they are due.
type schedule []*target

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].due.Before(s[j].due) }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	t := x.(*target)
	t.index = len(*s)
	*s = append(*s, t)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	old := *s
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*s = old[:len(old)-1]
	t.index = -1
	return t
}

func (s *schedule) add(t *target) { heap.Push(s, t) }

func (s *schedule) remove(t *target) {
	if t.index >= 0 {
		heap.Remove(s, t.index)
	}
}

// lane is a queue of targets that are due.
type lane struct {
	waiting []*target
	head    int
}

func (l *lane) push(t *target) { l.waiting = append(l.waiting, t) }

// pop returns the first target that is not gone, or nil.
func (l *lane) pop() *target {
	for l.head < len(l.waiting) {
		t := l.waiting[l.head]
		l.waiting[l.head] = nil
		l.head++
		if l.head == len(l.waiting) {
			l.waiting, l.head = l.waiting[:0], 0
		} else if l.head > len(l.waiting)/2 && l.head > 1024 {
			// A lane that is never empty must not grow for ever.
			n := copy(l.waiting, l.waiting[l.head:])
			clear(l.waiting[n:])
			l.waiting, l.head = l.waiting[:n], 0
		}
		if !t.gone {
			return t
		}
	}
	return nil
}

// len is how many wait, those that are gone included.
func (l *lane) len() int { return len(l.waiting) - l.head }
