package naming

import "sync/atomic"

// beatAnswer is what became of a beat.
type beatAnswer int

const (
	beatKnown   beatAnswer = iota // the instance is registered
	beatCreated                   // it is now, by this beat
	beatUnknown                   // the client is to register again
	beatRefused                   // the beat was malformed
	beatAnswers                   // how many there are
)

// beatCounts counts beats by kind and answer. Counting is one atomic addition,
// and is safe for concurrent use.
type beatCounts struct {
	light, full [beatAnswers]atomic.Uint64
}

func (c *beatCounts) add(full bool, a beatAnswer) {
	if full {
		c.full[a].Add(1)
		return
	}
	c.light[a].Add(1)
}

// total is how many beats there were. It never goes down.
func (c *beatCounts) total() (n uint64) {
	for a := range beatAnswers {
		n += c.light[a].Load() + c.full[a].Load()
	}
	return n
}
