package shed

import (
	"runtime"
	"time"
)

// queueWait is how long a goroutine waits that queues up for a processor behind all
// that are ready. A connection's goroutine becomes ready when its request is there,
// so that this is how long requests wait before anybody looks at them. Go's own
// statistics of it (runtime/metrics, /sched/latencies) do not tell: the many short
// waits of those who send answers hide the long ones.
func queueWait() time.Duration {
	queued := time.Now()
	runtime.Gosched()
	return time.Since(queued)
}
