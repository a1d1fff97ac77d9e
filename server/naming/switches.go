package naming

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Switches are the settings of a server that can be changed at run time (Nacos'
// switch object). Readers load an immutable set of values; all methods are safe
// for concurrent use.
type Switches struct {
	values atomic.Pointer[SwitchValues]
	mu     sync.Mutex // for changing values
}

// NewSwitches returns switches with Nacos' defaults.
func NewSwitches() *Switches {
	s := &Switches{}
	s.values.Store(defaultSwitches())
	return s
}

// Load returns the current values. Nobody changes them.
func (s *Switches) Load() *SwitchValues { return s.values.Load() }

// MarshalJSON implements json.Marshaler: the current values as Nacos shows them.
func (s *Switches) MarshalJSON() ([]byte, error) { return wire.Marshal(s.Load()) }

// SwitchValues is Nacos' switch object, members in its order, nulls included.
// Times are in milliseconds. What this server does not act on it keeps and
// shows, as Nacos itself does with half of them.
type SwitchValues struct {
	Name    string   `json:"name"`
	Masters []string `json:"masters"`
	// AdWeightMap is shown only.
	AdWeightMap map[string]int `json:"adWeightMap"`
	// DefaultPushCacheMillis is the cacheMillis of clients that are pushed to.
	DefaultPushCacheMillis int64 `json:"defaultPushCacheMillis"`
	// ClientBeatInterval is the interval of instances that name none.
	ClientBeatInterval int64 `json:"clientBeatInterval"`
	// DefaultCacheMillis is the cacheMillis of clients that poll.
	DefaultCacheMillis int64      `json:"defaultCacheMillis"`
	DistroThreshold    wire.Float `json:"distroThreshold"`
	// HealthCheckEnabled (entry "check") off stops marking and removing.
	HealthCheckEnabled           bool         `json:"healthCheckEnabled"`
	AutoChangeHealthCheckEnabled bool         `json:"autoChangeHealthCheckEnabled"`
	DistroEnabled                bool         `json:"distroEnabled"`
	EnableStandalone             bool         `json:"enableStandalone"`
	PushEnabled                  bool         `json:"pushEnabled"`
	CheckTimes                   int          `json:"checkTimes"`
	HTTPHealthParams             HealthParams `json:"httpHealthParams"`
	TCPHealthParams              HealthParams `json:"tcpHealthParams"`
	MySQLHealthParams            HealthParams `json:"mysqlHealthParams"`
	IncrementalList              []string     `json:"incrementalList"`

	ServerStatusSynchronizationPeriodMillis  int64 `json:"serverStatusSynchronizationPeriodMillis"`
	ServiceStatusSynchronizationPeriodMillis int64 `json:"serviceStatusSynchronizationPeriodMillis"`

	DisableAddIP     bool `json:"disableAddIP"`
	SendBeatOnly     bool `json:"sendBeatOnly"`
	LightBeatEnabled bool `json:"lightBeatEnabled"`
	// LimitedURLMap gives requests that begin with a prefix a fixed status.
	LimitedURLMap             map[string]int `json:"limitedUrlMap"`
	DistroServerExpiredMillis int64          `json:"distroServerExpiredMillis"`
	PushGoVersion             string         `json:"pushGoVersion"`
	PushJavaVersion           string         `json:"pushJavaVersion"`
	PushPythonVersion         string         `json:"pushPythonVersion"`
	PushCVersion              string         `json:"pushCVersion"`
	PushCSharpVersion         string         `json:"pushCSharpVersion"`
	EnableAuthentication      bool           `json:"enableAuthentication"`
	// OverriddenServerStatus is what the server says about itself; nil is the
	// truth.
	OverriddenServerStatus   *string  `json:"overriddenServerStatus"`
	DefaultInstanceEphemeral bool     `json:"defaultInstanceEphemeral"`
	HealthCheckWhiteList     []string `json:"healthCheckWhiteList"`
	Checksum                 *string  `json:"checksum"`
}

// HealthParams bound the interval of active probes, in milliseconds.
type HealthParams struct {
	Max    int        `json:"max"`
	Min    int        `json:"min"`
	Factor wire.Float `json:"factor"`
}

func defaultSwitches() *SwitchValues {
	return &SwitchValues{
		Name:                   "00-00---000-NACOS_SWITCH_DOMAIN-000---00-00",
		AdWeightMap:            map[string]int{},
		DefaultPushCacheMillis: 10000, ClientBeatInterval: 5000, DefaultCacheMillis: 3000,
		DistroThreshold: 0.7, HealthCheckEnabled: true, AutoChangeHealthCheckEnabled: true,
		DistroEnabled: true, EnableStandalone: true, PushEnabled: true, CheckTimes: 3,
		HTTPHealthParams:                         HealthParams{Max: 5000, Min: 500, Factor: 0.85},
		TCPHealthParams:                          HealthParams{Max: 5000, Min: 1000, Factor: 0.75},
		MySQLHealthParams:                        HealthParams{Max: 3000, Min: 2000, Factor: 0.65},
		IncrementalList:                          []string{},
		ServerStatusSynchronizationPeriodMillis:  2000,
		ServiceStatusSynchronizationPeriodMillis: 5000,
		LightBeatEnabled:                         true,
		LimitedURLMap:                            map[string]int{}, DistroServerExpiredMillis: 10000,
		PushGoVersion: "0.1.0", PushJavaVersion: "0.1.0", PushPythonVersion: "0.4.3",
		PushCVersion: "1.0.12", PushCSharpVersion: "0.9.0",
		DefaultInstanceEphemeral: true, HealthCheckWhiteList: []string{},
	}
}

// ClientBeatIntervalDuration is ClientBeatInterval as a duration.
func (v *SwitchValues) ClientBeatIntervalDuration() time.Duration {
	return time.Duration(v.ClientBeatInterval) * time.Millisecond
}

// PushCache is DefaultPushCacheMillis as a duration.
func (v *SwitchValues) PushCache() time.Duration {
	return time.Duration(v.DefaultPushCacheMillis) * time.Millisecond
}

// CanPush says whether clients of this kind and version are pushed to while
// pushing is enabled at all (Nacos HTTP v1: agent detection).
func (v *SwitchValues) CanPush(a wire.Agent) bool {
	var from string
	switch a.Kind {
	case wire.AgentJava:
		from = v.PushJavaVersion
	case wire.AgentGo:
		from = v.PushGoVersion
	case wire.AgentCSharp:
		from = v.PushCSharpVersion
	case wire.AgentC:
		from = v.PushCVersion
	case wire.AgentDNS:
		from = v.PushPythonVersion
	default:
		return false
	}
	version, ok := wire.ParseVersion(from)
	return v.PushEnabled && ok && a.AtLeast(version)
}

// clone returns a copy that shares nothing with v: decoding JSON into it writes
// through pointers, maps and slices.
func (v *SwitchValues) clone() *SwitchValues {
	c := *v
	c.AdWeightMap, c.LimitedURLMap = maps.Clone(v.AdWeightMap), maps.Clone(v.LimitedURLMap)
	c.Masters, c.IncrementalList = slices.Clone(v.Masters), slices.Clone(v.IncrementalList)
	c.HealthCheckWhiteList = slices.Clone(v.HealthCheckWhiteList)
	c.OverriddenServerStatus, c.Checksum = clonePointer(v.OverriddenServerStatus), clonePointer(v.Checksum)
	return &c
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
