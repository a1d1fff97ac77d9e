package wire

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"
)

// Host is one instance of a list, with the members of a Nacos 1.x reply.
type Host struct {
	IP   string
	Port int
	// Valid and Healthy carry the same value: the health that is reported, which
	// protection may set.
	Valid   bool
	Healthy bool
	// Marked is always false from a Nacos 1.x server.
	Marked     bool
	InstanceID string
	Metadata   map[string]string
	Enabled    bool
	Weight     float64
	// ClusterName is the cluster; ServiceName is the grouped or the bare name,
	// depending on the client ([Agent.GroupedNames]).
	ClusterName string
	ServiceName string
	Ephemeral   bool
	// Intervals are the effective times (server case SB-07); the last members,
	// which a list of Nacos has not. The zero value leaves them out.
	Intervals Intervals
}

// Append appends the host as JSON, members in the order of Nacos, metadata keys
// sorted.
func (h *Host) Append(dst []byte) []byte {
	dst = appendString(append(dst, `{"ip":`...), h.IP)
	dst = strconv.AppendInt(append(dst, `,"port":`...), int64(h.Port), 10)
	dst = strconv.AppendBool(append(dst, `,"valid":`...), h.Valid)
	dst = strconv.AppendBool(append(dst, `,"healthy":`...), h.Healthy)
	dst = strconv.AppendBool(append(dst, `,"marked":`...), h.Marked)
	dst = appendString(append(dst, `,"instanceId":`...), h.InstanceID)
	dst = appendStringMap(append(dst, `,"metadata":`...), h.Metadata)
	dst = strconv.AppendBool(append(dst, `,"enabled":`...), h.Enabled)
	dst = appendFloat(append(dst, `,"weight":`...), h.Weight)
	dst = appendString(append(dst, `,"clusterName":`...), h.ClusterName)
	dst = appendString(append(dst, `,"serviceName":`...), h.ServiceName)
	dst = strconv.AppendBool(append(dst, `,"ephemeral":`...), h.Ephemeral)
	if h.Intervals != (Intervals{}) {
		dst = h.Intervals.append(dst)
	}
	return append(dst, '}')
}

// MarshalJSON implements json.Marshaler by [Host.Append].
func (h Host) MarshalJSON() ([]byte, error) { return h.Append(make([]byte, 0, 320)), nil }

// ServiceList is the reply to a list request and the data of a push.
type ServiceList struct {
	Hosts []Host
	// Dom is the grouped or the bare service name, depending on the client.
	Dom string
	// Name is always the grouped name; clients key their caches by Name and
	// Clusters, which echo the request.
	Name string
	// CacheMillis is after how many milliseconds a client asks again.
	CacheMillis int64
	// LastRefTime is the server's wall clock in milliseconds.
	LastRefTime int64
	// Checksum is an opaque digest of the service's state.
	Checksum        string
	UseSpecifiedURL bool
	Clusters        string
	Env             string
	// Metadata is the service's.
	Metadata map[string]string
	// ReachProtectionThreshold says that every host is reported healthy because
	// too few are (server case SB-09); the last member, unknown to old clients.
	ReachProtectionThreshold bool
}

// EncodedList is a list encoded once and answered many times: the JSON before,
// between and after the two members that differ from answer to answer.
type EncodedList struct {
	head, tail []byte
}

// EncodeList encodes l with the given hosts instead of l.Hosts; CacheMillis and
// LastRefTime of l are left open. The hosts are read one at a time, so that a
// large service needs no slice of them.
func EncodeList(l ServiceList, hosts iter.Seq[Host]) EncodedList {
	head := append(make([]byte, 0, 512), `{"hosts":[`...)
	first := true
	for h := range hosts {
		if !first {
			head = append(head, ',')
		}
		first = false
		head = h.Append(head)
	}
	head = appendString(append(head, `],"dom":`...), l.Dom)
	head = appendString(append(head, `,"name":`...), l.Name)
	head = append(head, `,"cacheMillis":`...)

	tail := appendString(append(make([]byte, 0, 256), `,"checksum":`...), l.Checksum)
	tail = strconv.AppendBool(append(tail, `,"useSpecifiedURL":`...), l.UseSpecifiedURL)
	tail = appendString(append(tail, `,"clusters":`...), l.Clusters)
	tail = appendString(append(tail, `,"env":`...), l.Env)
	tail = appendStringMap(append(tail, `,"metadata":`...), l.Metadata)
	tail = strconv.AppendBool(append(tail, `,"reachProtectionThreshold":`...), l.ReachProtectionThreshold)
	return EncodedList{head: head, tail: append(tail, '}')}
}

// Size is the number of bytes of the shared parts.
func (e EncodedList) Size() int { return len(e.head) + len(e.tail) }

// Append appends the whole reply.
func (e EncodedList) Append(dst []byte, cacheMillis, lastRefTime int64) []byte {
	dst = slices.Grow(dst, e.Size()+64)
	return append(appendVarying(append(dst, e.head...), cacheMillis, lastRefTime), e.tail...)
}

// Parts returns the reply in three pieces, to be sent one after another. Head and
// tail are shared by all replies and nobody changes them; only the few bytes
// between them are new.
func (e EncodedList) Parts(cacheMillis, lastRefTime int64) (head, varying, tail []byte) {
	return e.head, appendVarying(make([]byte, 0, 64), cacheMillis, lastRefTime), e.tail
}

func appendVarying(dst []byte, cacheMillis, lastRefTime int64) []byte {
	dst = strconv.AppendInt(dst, cacheMillis, 10)
	return strconv.AppendInt(append(dst, `,"lastRefTime":`...), lastRefTime, 10)
}

// MarshalJSON implements json.Marshaler.
func (l ServiceList) MarshalJSON() ([]byte, error) {
	return EncodeList(l, slices.Values(l.Hosts)).Append(nil, l.CacheMillis, l.LastRefTime), nil
}

// AppendUnknownService appends the reply for a service that is not there: these
// four members and nothing else (Nacos HTTP v1: list).
func AppendUnknownService(dst []byte, groupedName, clusters string, cacheMillis int64) []byte {
	dst = appendString(append(dst, `{"name":`...), groupedName)
	dst = appendString(append(dst, `,"clusters":`...), clusters)
	dst = strconv.AppendInt(append(dst, `,"cacheMillis":`...), cacheMillis, 10)
	return append(dst, `,"hosts":[]}`...)
}

// hostDocument is Host as it is decoded. A member that is missing takes Nacos'
// default for a host.
type hostDocument struct {
	IP          string    `json:"ip"`
	Port        flexInt   `json:"port"`
	Valid       flexBool  `json:"valid"`
	Healthy     *flexBool `json:"healthy"`
	Marked      flexBool  `json:"marked"`
	InstanceID  string    `json:"instanceId"`
	Metadata    flexMap   `json:"metadata"`
	Enabled     *flexBool `json:"enabled"`
	Weight      *anyFloat `json:"weight"`
	ClusterName string    `json:"clusterName"`
	ServiceName string    `json:"serviceName"`
	Ephemeral   *flexBool `json:"ephemeral"`
	Beat        flexInt   `json:"instanceHeartBeatInterval"`
	Timeout     flexInt   `json:"instanceHeartBeatTimeOut"`
	Delete      flexInt   `json:"ipDeleteTimeout"`
}

func (d *hostDocument) host() Host {
	h := Host{
		IP: d.IP, Port: int(d.Port), Valid: bool(d.Valid), Marked: bool(d.Marked), InstanceID: d.InstanceID,
		Metadata: d.Metadata, Healthy: orTrue(d.Healthy), Enabled: orTrue(d.Enabled), Ephemeral: orTrue(d.Ephemeral),
		Weight: 1, ClusterName: d.ClusterName, ServiceName: d.ServiceName,
		Intervals: Intervals{Beat: d.Beat.milliseconds(), Timeout: d.Timeout.milliseconds(), Delete: d.Delete.milliseconds()},
	}
	if d.Weight != nil {
		h.Weight = float64(*d.Weight)
	}
	return h
}

func orTrue(b *flexBool) bool { return b == nil || bool(*b) }

// UnmarshalJSON implements json.Unmarshaler. It accepts an integer written with
// a fraction and ignores unknown members; a missing healthy, enabled or
// ephemeral is true and a missing weight 1, as in the SDKs.
func (h *Host) UnmarshalJSON(b []byte) error {
	var d hostDocument
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	*h = d.host()
	return nil
}

// UnmarshalJSON implements json.Unmarshaler with the leniency of a [Host]'s.
// Hosts is nil only when the document has no hosts member or null.
func (l *ServiceList) UnmarshalJSON(b []byte) error {
	var d struct {
		Hosts           []hostDocument `json:"hosts"`
		Dom             string         `json:"dom"`
		Name            string         `json:"name"`
		CacheMillis     flexInt        `json:"cacheMillis"`
		LastRefTime     flexInt        `json:"lastRefTime"`
		Checksum        string         `json:"checksum"`
		UseSpecifiedURL flexBool       `json:"useSpecifiedURL"`
		Clusters        string         `json:"clusters"`
		Env             string         `json:"env"`
		Metadata        flexMap        `json:"metadata"`
		Protected       flexBool       `json:"reachProtectionThreshold"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	*l = ServiceList{
		Dom: d.Dom, Name: d.Name, CacheMillis: int64(d.CacheMillis), LastRefTime: int64(d.LastRefTime),
		Checksum: d.Checksum, UseSpecifiedURL: bool(d.UseSpecifiedURL), Clusters: d.Clusters, Env: d.Env,
		Metadata: d.Metadata, ReachProtectionThreshold: bool(d.Protected),
	}
	if d.Hosts != nil {
		l.Hosts = make([]Host, len(d.Hosts))
		for i := range d.Hosts {
			l.Hosts[i] = d.Hosts[i].host()
		}
	}
	return nil
}
