package discovery

import (
	"fmt"
	"time"
)

// tolerate says whether a caller may have a stale list; the error is why not. A
// list that is protected is not one of a failing source; it has a time limit of
// its own.
func (c *Client) tolerate(s *Snapshot) error {
	if s.Protected() {
		return nil
	}
	age := time.Since(s.FetchedAt)
	most := c.opt.FailureTolerance.MaxAge
	switch {
	case s.Origin == OriginDisk && age <= c.opt.Disk.MaxAge:
		return nil
	case c.opt.FailureTolerance.Disabled:
		return fmt.Errorf("the last list is not used, failure tolerance is off: %w", s.Err)
	case most > 0 && age > most:
		return fmt.Errorf("the last list is %s old, more than %s: %w", age.Round(time.Second), most, s.Err)
	}
	return nil
}
