package discovery

import (
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

// Origins of a list that is not a source's.
const (
	// OriginDisk is that of a list that was read from the disk at the start,
	// because the sources could not be asked.
	OriginDisk = "disk"
	// OriginFailover is that of a list an operator put in the place of the
	// sources'.
	OriginFailover = "failover"
)

// ErrProtected is the Err of a snapshot whose source answers with an empty list
// that is not believed yet; see [EmptyProtection].
var ErrProtected = errors.New("the source has no instance any more, the last list is kept for a while")

// Snapshot is what is known about one service at one moment. It is immutable and
// shared: nobody changes it or what it refers to (client rule C-R13).
type Snapshot struct {
	// Service is the normalised id.
	Service registry.ServiceID
	// Revision grows by one with each change of content; it starts at 1.
	Revision uint64
	// Instances are sorted by cluster, IP and port, disabled and unhealthy ones
	// included as far as the source reports them. May be empty.
	Instances []registry.Instance
	// Origin is the name of the source the list came from, several joined by a
	// plus sign where lists are united; or [OriginDisk], [OriginFailover].
	Origin string
	// FetchedAt is when the content was last confirmed by the source.
	FetchedAt time.Time
	// ChangedAt is when the content became what it is.
	ChangedAt time.Time
	// StaleSince is when the source began to fail, or to answer with an empty list
	// that is not believed; zero while the list is what the source says.
	StaleSince time.Time
	// Err is why the list is stale; nil while it is not.
	Err error
}

// Stale reports whether the list is older than what its source would have to say.
func (s *Snapshot) Stale() bool { return !s.StaleSince.IsZero() }

// Protected reports whether the list is kept although its source answers with an
// empty one (client rule C-R14).
func (s *Snapshot) Protected() bool { return errors.Is(s.Err, ErrProtected) }
