package shed

import (
	"math"
	"runtime/metrics"
	"time"
)

// enough is how many waits say something.
const enough = 16

// newSchedulerWait returns a function that says how long half of the goroutines that
// became ready since the last call waited for a processor. A connection's goroutine
// becomes ready when its request is there, so that this is how long requests wait
// before anybody looks at them. Go counts it anyway.
func newSchedulerWait() func() time.Duration {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	var before []uint64
	return func() time.Duration {
		metrics.Read(sample)
		if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
			return 0 // a Go that does not count it: nothing is turned away
		}
		h := sample[0].Value.Float64Histogram()
		median := medianOf(before, h.Counts, h.Buckets)
		before = append(before[:0], h.Counts...)
		return median
	}
}

// medianOf is the median of what a histogram counted since before, as the upper end
// of its bucket; 0 where that is too little.
func medianOf(before, counts []uint64, bounds []float64) time.Duration {
	since := func(i int) uint64 {
		if i < len(before) {
			return counts[i] - before[i]
		}
		return counts[i]
	}
	var all uint64
	for i := range counts {
		all += since(i)
	}
	if all < enough {
		return 0
	}
	var n uint64
	for i := range counts {
		if n += since(i); 2*n >= all {
			end := bounds[i+1]
			if math.IsInf(end, 1) {
				end = bounds[i]
			}
			return time.Duration(end * float64(time.Second))
		}
	}
	return 0
}
