package naming

import "time"

// wheelSlots ticks are one turn of the wheel: 51.2 s.
const wheelSlots = 512

// timer is an appointment to look at an instance, or with a nil live at a
// tombstone.
type timer struct {
	entry *entry
	key   InstanceKey
	live  *liveness
	turn  uint32
	due   time.Duration
}

// wheel is a hashed timing wheel (Varghese and Lauck, scheme 6): a timer lies in
// the slot of its due time modulo the turn, so adding is an append, and
// advancing looks at one slot for each tick. It is not safe for concurrent use.
type wheel struct {
	slots [wheelSlots][]timer
	tick  int64 // the last one that fired
}

// add files a timer, at the next tick if it is due already.
func (w *wheel) add(t timer) {
	slot := max(int64((t.due+leaseTick-1)/leaseTick), w.tick+1) % wheelSlots
	w.slots[slot] = append(w.slots[slot], t)
}

// advance returns the timers that are due by now.
func (w *wheel) advance(now time.Duration) (fired []timer) {
	for end := int64(now / leaseTick); w.tick < end; {
		w.tick++
		slot := &w.slots[w.tick%wheelSlots]
		limit := time.Duration(w.tick) * leaseTick
		later := (*slot)[:0]
		for _, t := range *slot {
			if t.due <= limit {
				fired = append(fired, t)
			} else {
				later = append(later, t)
			}
		}
		if len(later) == 0 {
			*slot = nil // gives the memory of a burst back
			continue
		}
		clear((*slot)[len(later):])
		*slot = later
	}
	return fired
}
