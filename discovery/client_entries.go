package discovery

import (
	"errors"
	"maps"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// lockEntry returns the entry of a normalised id, locked, and creates it when
// there is none.
func (c *Client) lockEntry(id registry.ServiceID) (*entry, error) {
	if id.Name == "" {
		return nil, errors.New("the service has no name")
	}
	for {
		e, err := c.entry(id)
		if err != nil {
			return nil, err
		}
		e.mu.Lock()
		if !e.dropped {
			if e.fresh && e.override != nil {
				c.plan(e, 0) // nobody waits for a fetch while there is a list
			}
			e.fresh = false
			return e, nil
		}
		// It was dropped between the look-up and the lock: there is a newer one
		// or room for it.
		e.mu.Unlock()
	}
}

func (c *Client) entry(id registry.ServiceID) (*entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	old := *c.entries.Load()
	if e := old[id]; e != nil {
		return e, nil
	}
	e := newEntry(id)
	if c.failover != nil && c.failover.lists[id] != nil {
		e.override = c.failover.lists[id]
		e.show(time.Now())
	}
	entries := make(map[registry.ServiceID]*entry, len(old)+1)
	maps.Copy(entries, old)
	entries[id] = e
	c.entries.Store(&entries)
	return e, nil
}

// drop forgets an entry that nobody uses. Its lock is held.
func (c *Client) drop(e *entry) {
	e.dropped = true
	e.gone.Store(true)
	c.polls.remove(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.unknown {
		e.unknown = false
		c.unknown--
	}
	old := *c.entries.Load()
	if old[e.id] != e {
		return // the client was closed
	}
	entries := maps.Clone(old)
	delete(entries, e.id)
	c.entries.Store(&entries)
}

// admit counts a service without subscribers among those that nobody knows, if it
// has no instance; false when there are too many of them.
func (c *Client) admit(e *entry, empty bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case empty == e.unknown:
	case !empty:
		e.unknown = false
		c.unknown--
	case c.unknown >= c.opt.MaxUnknown:
		return false
	default:
		e.unknown = true
		c.unknown++
	}
	return true
}

func (c *Client) countStale() float64 { return c.count((*Snapshot).Stale) }

func (c *Client) countProtected() float64 { return c.count((*Snapshot).Protected) }

func (c *Client) count(is func(*Snapshot) bool) float64 {
	n := 0
	for _, e := range *c.entries.Load() {
		if s := e.current.Load(); s != nil && is(s) {
			n++
		}
	}
	return float64(n)
}
