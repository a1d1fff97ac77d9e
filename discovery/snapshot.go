package discovery

import (
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

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
	// FetchedAt is when the content was last confirmed by the source.
	FetchedAt time.Time
	// StaleSince is when the source began to fail; zero while it answers.
	StaleSince time.Time
	// Err is why the source fails; nil while it answers.
	Err error
}

// Stale reports whether the source has failed since the content was confirmed.
func (s *Snapshot) Stale() bool { return !s.StaleSince.IsZero() }
