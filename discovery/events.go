package discovery

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// tellChange publishes what became different since the last event of a service.
func (c *Client) tellChange(ctx context.Context, e *entry) {
	s := e.current.Load()
	if s == nil {
		return // the operator's list is gone, the sources' comes with the next event
	}
	added, removed, modified := differences(e.told, s.Instances)
	e.told = s.Instances
	if len(added)+len(removed)+len(modified) > 0 {
		c.publish(ctx, registry.InstancesChanged{Service: e.id, Added: added, Removed: removed, Modified: modified})
	}
}

// publish tells the publisher; what goes wrong there is logged.
func (c *Client) publish(ctx context.Context, event any) {
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		return c.opt.Publisher.Publish(ctx, event)
	}()
	if err != nil && ctx.Err() == nil {
		c.opt.Logger.Warn("a listener of an event failed", slog.String("event", fmt.Sprintf("%T", event)), slog.Any("error", err))
	}
}

// beat looks at the catalogue once per delay, and publishes a heartbeat where it
// differs from the last one published (rule B-R5). A catalogue that cannot be had
// is no change.
func (c *Client) beat() {
	ticker := time.NewTicker(c.opt.Heartbeat.Delay)
	defer ticker.Stop()
	last := ""
	for {
		select {
		case <-ticker.C:
		case <-c.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, c.opt.Heartbeat.Delay)
		names, err := c.Services(ctx)
		cancel()
		if err != nil {
			if c.ctx.Err() == nil {
				c.opt.Logger.Debug("the catalogue cannot be had", slog.Any("error", err))
			}
			continue
		}
		if state := catalogueState(names); state != last {
			last = state
			c.publish(c.ctx, registry.Heartbeat{State: state, Services: names})
		}
	}
}

// catalogueState is a hash of sorted names. A separator that no name holds keeps
// two names apart from one.
func catalogueState(names []string) string {
	h := fnv.New64a()
	for _, name := range names {
		_, _ = io.WriteString(h, name)
		_, _ = h.Write([]byte{0})
	}
	return strconv.FormatUint(h.Sum64(), 16)
}
