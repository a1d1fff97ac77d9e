package auth

import "container/list"

// recent is a map that holds at most max entries and forgets the one that was
// used least recently. It is not safe for concurrent use.
type recent[K comparable, V any] struct {
	max     int
	entries map[K]*list.Element
	order   list.List // of *recentEntry, most recently used first
}

type recentEntry[K comparable, V any] struct {
	key   K
	value V
}

func newRecent[K comparable, V any](most int) *recent[K, V] {
	return &recent[K, V]{max: most, entries: make(map[K]*list.Element)}
}

// get returns the value of a key and marks it used.
func (r *recent[K, V]) get(k K) (v V, ok bool) {
	e, ok := r.entries[k]
	if !ok {
		return v, false
	}
	r.order.MoveToFront(e)
	return e.Value.(*recentEntry[K, V]).value, true
}

// put adds or replaces a value.
func (r *recent[K, V]) put(k K, v V) {
	if e, ok := r.entries[k]; ok {
		e.Value.(*recentEntry[K, V]).value = v
		r.order.MoveToFront(e)
		return
	}
	if len(r.entries) >= r.max {
		oldest := r.order.Back()
		delete(r.entries, oldest.Value.(*recentEntry[K, V]).key)
		r.order.Remove(oldest)
	}
	r.entries[k] = r.order.PushFront(&recentEntry[K, V]{k, v})
}

func (r *recent[K, V]) remove(k K) {
	if e, ok := r.entries[k]; ok {
		r.order.Remove(e)
		delete(r.entries, k)
	}
}

func (r *recent[K, V]) len() int { return len(r.entries) }
