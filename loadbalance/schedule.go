package loadbalance

import (
	"container/heap"
	"math"
)

// maxTurns bounds the turns of a round, beside eight for each instance.
const maxTurns = 1024

// schedule returns a round in which each index has turns in proportion to its
// weight and evenly spread. Those whose weight is not above 0 have none. It is
// exact for whole weights that fit into the bound, and else within its rounding;
// everybody with a weight has at least one turn.
func schedule(weights []float64) []int32 {
	counts, total := turnCounts(weights)
	turns := make([]int32, 0, total)
	if total == len(counts) { // everybody has one
		for n := range counts {
			turns = append(turns, int32(n))
		}
		return turns
	}
	queue := make(turnQueue, 0, len(counts))
	for n, count := range counts {
		if count > 0 {
			queue = append(queue, turn{due: phase(n) / float64(count), index: int32(n), every: 1 / float64(count)})
		}
	}
	heap.Init(&queue)
	// The next turn is that of whoever is due first: the k-th of m turns is due
	// somewhere in the k-th m-th part of the round.
	for range total {
		first := &queue[0]
		turns = append(turns, first.index)
		first.due += first.every
		heap.Fix(&queue, 0)
	}
	return turns
}

// phase is where in its part an index's turn is due. Multiples of the golden
// ratio keep those of different indexes apart, whose turns would otherwise come
// together and leave those with most weight a long row elsewhere.
func phase(n int) float64 {
	_, fraction := math.Modf(float64(n+1) * (math.Phi - 1))
	return fraction
}

// turnCounts returns how many turns each index has in a round, and their sum.
func turnCounts(weights []float64) (counts []int, total int) {
	counts = make([]int, len(weights))
	limit := maxTurns + 8*len(weights)
	sum, divisor, whole := 0.0, 0, true
	for _, w := range weights {
		if w > 0 {
			sum += w
			whole = whole && w == math.Trunc(w)
			divisor = greatestDivisor(divisor, int(w))
		}
	}
	scale := float64(limit) / sum
	if whole && divisor > 0 && sum/float64(divisor) <= float64(limit) {
		scale = 1 / float64(divisor)
	}
	if same := sameWeight(weights); same > 0 {
		scale = 1 / same
	}
	for n, w := range weights {
		if w > 0 {
			counts[n] = max(1, int(math.Round(w*scale)))
			total += counts[n]
		}
	}
	return counts, total
}

// sameWeight returns the weight that all have who have one; 0 when they differ.
func sameWeight(weights []float64) float64 {
	same := 0.0
	for _, w := range weights {
		switch {
		case !(w > 0) || w == same:
		case same == 0:
			same = w
		default:
			return 0
		}
	}
	return same
}

func greatestDivisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

type turn struct {
	due, every float64
	index      int32
}

type turnQueue []turn

func (q turnQueue) Len() int { return len(q) }
func (q turnQueue) Less(a, b int) bool {
	if q[a].due != q[b].due {
		return q[a].due < q[b].due
	}
	return q[a].index < q[b].index
}
func (q turnQueue) Swap(a, b int) { q[a], q[b] = q[b], q[a] }

// Push and Pop complete [heap.Interface]; the queue keeps its length.
func (q *turnQueue) Push(x any) { *q = append(*q, x.(turn)) }

func (q *turnQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
