package naming

import "iter"

// merged walks the pairs of two maps whose keys are not before key, as if they
// were one map in which a key may occur twice: then first's pair comes first.
func merged[K, V any](first, second *ordered[K, V], key K) iter.Seq2[K, V] {
	switch {
	case first.size == 0:
		return second.from(key)
	case second.size == 0:
		return first.from(key)
	}
	return func(yield func(K, V) bool) {
		a, b := first.cursor(key), second.cursor(key)
		for {
			pa, pb := a.pair(), b.pair()
			var next *orderedPair[K, V]
			switch {
			case pa == nil && pb == nil:
				return
			case pb == nil || pa != nil && first.compare(pa.key, pb.key) <= 0:
				next = pa
				a.step()
			default:
				next = pb
				b.step()
			}
			if !yield(next.key, next.value) {
				return
			}
		}
	}
}

// cursor is a position in a map.
type cursor[K, V any] struct {
	blocks []*block[K, V] // from the current one on
	i      int            // in the first of them
}

// cursor returns the position of key, or of the first pair after it.
func (o *ordered[K, V]) cursor(key K) cursor[K, V] {
	b, i, _ := o.find(key)
	c := cursor[K, V]{blocks: o.blocks[b:], i: i}
	c.settle()
	return c
}

// pair is the current one, nil past the end.
func (c *cursor[K, V]) pair() *orderedPair[K, V] {
	if len(c.blocks) == 0 {
		return nil
	}
	return &c.blocks[0].pairs[c.i]
}

func (c *cursor[K, V]) step() {
	c.i++
	c.settle()
}

// settle moves from the end of a block to the beginning of the next.
func (c *cursor[K, V]) settle() {
	if len(c.blocks) > 0 && c.i == len(c.blocks[0].pairs) {
		c.blocks, c.i = c.blocks[1:], 0
	}
}
