package discovery

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// Errors that callers branch on.
var (
	// ErrClosed says that the client or source was closed before the call.
	ErrClosed = errors.New("discovery is closed")
)

// Listing is one answer of a [Source].
type Listing struct {
	// Service is the normalised id asked for.
	Service registry.ServiceID
	// Instances is owned by the receiver once handed over; any order.
	Instances []registry.Instance
	// CacheFor is how long the source wants the answer to be used before the next
	// fetch (Nacos' cacheMillis); 0 leaves it to the client.
	CacheFor time.Duration
}

// Source is a catalogue of services: a registry, a static table. Every
// implementation passes the suite discoverytest. Safe for concurrent use.
type Source interface {
	// Name says in logs and health what this is: "nacos", "memory", "static".
	Name() string
	// Fetch asks for all instances of a service, whatever their health. A service
	// that nobody knows is an empty Listing, not an error. Fetch honours the
	// context and bounds itself.
	Fetch(ctx context.Context, service registry.ServiceID) (Listing, error)
	// Services returns the sorted names in a namespace and group ("" = default).
	Services(ctx context.Context, namespace, group string) ([]string, error)
	// Close releases everything within two seconds and is idempotent.
	Close() error
}

// Notifier is a [Source] that learns of changes by itself. The [Client] calls
// Notify once, before the first Fetch; the source then calls f with each list
// it learns of, from one goroutine at a time, and never after Close returned.
// f does not block.
type Notifier interface {
	Notify(f func(Listing))
}
