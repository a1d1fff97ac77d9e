package naming

import "time"

// A node that is cut off hears nobody at all. When beats used to come at
// deafRate a second or more, a silence in which deafBeats of them were due, and
// no less than deafAfter, is no coincidence. If it really is one, the first
// caller ends it, and after deafMost nobody waits any longer.
const (
	deafRate  = 10.0
	deafBeats = 20.0
	deafAfter = 2 * time.Second
	deafMost  = 5 * time.Minute
	// rateWindow is the time over which the rate of beats is averaged.
	rateWindow = 30 * time.Second
)

// hearing judges whether this node can hear anybody (server case SB-08). Silence
// alone does not tell a cut from the death of all who used to beat; what comes
// after it does. Once somebody was heard again, the next silence is believed to be
// a cut only when beats came back as well, half as many as before at least.
// Otherwise callers who ask now and then would keep a dead fleet alive.
type hearing struct {
	rate  float64 // beats a second, averaged over the time in which there were callers
	beats uint64  // counted up to the last tick

	deaf bool // the last tick found the node so
	// doubted says that beats are still missed since it was; heard and counted are
	// for how long callers were heard since, and how many beats.
	doubted bool
	heard   time.Duration
	counted uint64
}

// tick takes what the last tick's time brought: beats is their running total,
// silence how long ago somebody was heard. It says whether the node is deaf.
func (h *hearing) tick(advance, silence time.Duration, beats uint64) bool {
	if advance > 0 && silence < deafAfter { // what counts is the rate before a silence
		if h.deaf {
			h.doubted, h.heard, h.counted = true, 0, 0
		}
		came := beats - h.beats
		h.rate += (float64(came)/advance.Seconds() - h.rate) * advance.Seconds() / rateWindow.Seconds()
		h.beats = beats
		h.heard += advance
		h.counted += came
		if h.heard >= deafAfter/2 && float64(h.counted) >= h.rate*h.heard.Seconds()/2 {
			h.doubted = false
		}
	}
	h.deaf = !h.doubted && h.rate >= deafRate && silence >= deafAfter && silence <= deafMost &&
		h.rate*silence.Seconds() >= deafBeats
	return h.deaf
}
