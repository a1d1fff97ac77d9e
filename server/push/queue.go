package push

import (
	"container/list"
	"iter"
)

// ticket is an element's place in a [queue]; nil is no place.
type ticket = *list.Element

// queue is a first-in first-out list whose elements can leave from anywhere.
// Everything here that waits, waits equally long, so that the order of arrival is
// the order of time and no heap is needed.
type queue[T any] struct{ list list.List }

func (q *queue[T]) push(v T) ticket { return q.list.PushBack(v) }

// again moves an element to the back, as if it had arrived now.
func (q *queue[T]) again(t ticket) { q.list.MoveToBack(t) }

func (q *queue[T]) remove(t ticket) { q.list.Remove(t) }

// front returns the oldest element; ok is false when there is none.
func (q *queue[T]) front() (v T, ok bool) {
	t := q.list.Front()
	if t == nil {
		return v, false
	}
	return t.Value.(T), true
}

// pop takes the oldest element out; ok is false when there is none.
func (q *queue[T]) pop() (v T, ok bool) {
	t := q.list.Front()
	if t == nil {
		return v, false
	}
	return q.list.Remove(t).(T), true
}

func (q *queue[T]) len() int { return q.list.Len() }

// all walks the elements, oldest first.
func (q *queue[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for t := q.list.Front(); t != nil && yield(t.Value.(T)); t = t.Next() {
		}
	}
}
