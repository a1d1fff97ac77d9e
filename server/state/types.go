package state

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// What the state hands out is immutable, maps and slices included: it is shared
// with the state and with everybody else who asked. The JSON names are the form
// on disk and do not change.

// InstanceKey identifies a persistent instance within its service. The parts are
// compared exactly; their canonical form is the caller's business.
type InstanceKey struct {
	Cluster string `json:"cluster"`
	IP      string `json:"ip"`
	Port    int    `json:"port"`
}

// Compare orders keys by cluster, address and port, as lists do.
func (k InstanceKey) Compare(o InstanceKey) int {
	return cmp.Or(strings.Compare(k.Cluster, o.Cluster), strings.Compare(k.IP, o.IP), cmp.Compare(k.Port, o.Port))
}

// Instance is a persistent instance.
type Instance struct {
	Service wire.ServiceKey `json:"service"`
	InstanceKey
	// ID was given at the first registration and stays.
	ID      string  `json:"id"`
	Weight  float64 `json:"weight"`
	Enabled bool    `json:"enabled"`
	// Healthy is the health the instance has before the first probe.
	Healthy  bool              `json:"healthy"`
	Metadata map[string]string `json:"metadata,omitempty"`
	App      string            `json:"app,omitempty"`
}

// Service is what was set about a service by a call.
type Service struct {
	Key              wire.ServiceKey   `json:"service"`
	ProtectThreshold float64           `json:"protectThreshold"`
	Metadata         map[string]string `json:"metadata,omitempty"`
	// Selector is the selector's JSON, empty for none.
	Selector json.RawMessage `json:"selector,omitempty"`
}

// Cluster is what was set about a cluster of a service.
type Cluster struct {
	Service wire.ServiceKey `json:"service"`
	Name    string          `json:"cluster"`
	// HealthChecker is the checker's JSON.
	HealthChecker   json.RawMessage   `json:"healthChecker"`
	CheckPort       int               `json:"checkPort"`
	UseInstancePort bool              `json:"useInstancePort"`
	Metadata        map[string]string `json:"metadata,omitempty"`
}

// Namespace is a namespace that was created; public is not among them.
type Namespace struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// User is a user with the bcrypt hash of the password.
type User struct {
	Name         string `json:"name"`
	PasswordHash string `json:"passwordHash"`
}

// Role says that a user has a role.
type Role struct {
	User string `json:"user"`
	Role string `json:"role"`
}

// Permission says that a role may do something.
type Permission struct {
	Role     string `json:"role"`
	Resource string `json:"resource"`
	// Action is "r", "w" or "rw".
	Action string `json:"action"`
}

// AdminRole is the role that may do everything.
const AdminRole = "ROLE_ADMIN"

// Switches are the switches as they were last set, nothing if they never were.
type Switches struct {
	// Object is Nacos' switch object.
	Object json.RawMessage `json:"object,omitempty"`
	// Revision counts the changes.
	Revision uint64 `json:"revision"`
}

// Secret is something random that all nodes share, such as the key that login
// tokens are signed with.
type Secret struct {
	Name  string `json:"name"`
	Value []byte `json:"value"`
}
