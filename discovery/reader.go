package discovery

import (
	"context"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/registry"
)

// Reader is [Client.Snapshot] for one service, without looking the service up each
// time: for callers who ask with every request. It holds nothing open, and keeps
// the service fresh only while it is used, as Snapshot does. It is safe for
// concurrent use.
type Reader struct {
	entry  atomic.Pointer[entry]
	client *Client
	id     registry.ServiceID
}

// Reader returns a reader of a service's list. It asks nothing yet.
func (c *Client) Reader(id registry.ServiceID) *Reader {
	return &Reader{client: c, id: id.Normalize()}
}

// Snapshot is [Client.Snapshot] of the reader's service.
func (r *Reader) Snapshot(ctx context.Context) (*Snapshot, error) {
	if s := r.entry.Load().read(); s != nil {
		return r.client.allow(s)
	}
	s, err := r.client.Snapshot(ctx, r.id)
	if err == nil {
		// Entries come and go; one that has gone is not read.
		r.entry.Store((*r.client.entries.Load())[r.id])
	}
	return s, err
}
