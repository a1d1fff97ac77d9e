package naming

import (
	"bytes"
	"encoding/json"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Types of health checkers: how persistent instances are probed (Nacos HTTP v1:
// active probes).
const (
	CheckerTCP   = "TCP"
	CheckerHTTP  = "HTTP"
	CheckerMySQL = "MYSQL"
	CheckerNone  = "NONE"
)

// defaultCheckPort is what Nacos shows for a cluster without settings.
const defaultCheckPort = 80

// ClusterInfo is what is known of a cluster besides its instances. It is
// immutable once it was handed over, Metadata included.
type ClusterInfo struct {
	// Checker says how the cluster's persistent instances are probed.
	Checker HealthChecker `json:"healthChecker"`
	// CheckPort is the port that is probed unless UseInstancePort is set.
	CheckPort int `json:"checkPort"`
	// UseInstancePort probes each instance at its own port.
	UseInstancePort bool `json:"useInstancePort"`
	// Metadata is the operator's.
	Metadata map[string]string `json:"metadata"`
}

// DefaultClusterInfo returns what holds for a cluster nobody set anything for:
// TCP to the instance's own port.
func DefaultClusterInfo() ClusterInfo {
	return ClusterInfo{CheckPort: defaultCheckPort, UseInstancePort: true}
}

// HealthChecker is a cluster's checker: its type for those who probe, its whole
// document for those who show it. The zero value is {"type":"TCP"}.
type HealthChecker struct {
	kind     string
	document string // compact JSON; "" with the zero value
}

// ParseHealthChecker reads the parameter healthChecker, a JSON object with a
// type. The other members are the prober's business and kept as they are. What
// cannot be read is a [wire.BadRequest].
func ParseHealthChecker(text string) (HealthChecker, error) {
	var d struct {
		Type *string `json:"type"`
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return HealthChecker{}, wire.BadRequestf("health checker incorrect: %s (%s)", wire.Excerpt(text), err)
	}
	if d.Type == nil {
		return HealthChecker{}, wire.BadRequestf("health checker incorrect: %s (no type)", wire.Excerpt(text))
	}
	h := HealthChecker{kind: CheckerNone}
	switch *d.Type {
	case CheckerTCP, CheckerHTTP, CheckerMySQL:
		h.kind = *d.Type
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return HealthChecker{}, wire.BadRequestf("health checker incorrect: %s (%s)", wire.Excerpt(text), err)
	}
	h.document = compact.String()
	return h, nil
}

// Type is CheckerTCP, CheckerHTTP, CheckerMySQL or CheckerNone. A type that
// nobody knows is not probed either.
func (h HealthChecker) Type() string {
	if h.document == "" {
		return CheckerTCP
	}
	return h.kind
}

// Document is the whole checker as compact JSON.
func (h HealthChecker) Document() string {
	if h.document == "" {
		return `{"type":"TCP"}`
	}
	return h.document
}

// MarshalJSON implements json.Marshaler: the document.
func (h HealthChecker) MarshalJSON() ([]byte, error) { return []byte(h.Document()), nil }

// UnmarshalJSON implements json.Unmarshaler by [ParseHealthChecker].
func (h *HealthChecker) UnmarshalJSON(b []byte) error {
	parsed, err := ParseHealthChecker(string(b))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// CheckCluster says whether the settings of a cluster can be applied: a
// [wire.BadRequest], or ErrServiceNotFound when the service is unknown. It is
// asked before the change is proposed to the replicated state.
func (s *Store) CheckCluster(k wire.ServiceKey, name string, info ClusterInfo) error {
	if _, err := wire.ParseCluster(name); err != nil {
		return err
	}
	if err := wire.CheckPort(info.CheckPort); err != nil {
		return err
	}
	if info.CheckPort == 0 && !info.UseInstancePort && info.Checker.Type() != CheckerNone {
		return wire.BadRequest("checkPort is a port from 1 to 65535 unless useInstancePort4Check is true")
	}
	if _, ok := s.Lookup(k); !ok {
		return wire.Refusef(ErrServiceNotFound, "service not found:%s", k.ServiceName)
	}
	return nil
}

// ApplyCluster sets what the replicated state decided about a cluster of a
// service, which is created if need be. The zero name is DEFAULT.
func (s *Store) ApplyCluster(k wire.ServiceKey, name string, info ClusterInfo) error {
	name, err := wire.ParseCluster(name)
	if err != nil {
		return err
	}
	return s.change(k, true, func(d *draft) error {
		d.setCluster(name, info)
		return nil
	})
}
