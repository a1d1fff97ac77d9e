package registry

import (
	"maps"
	"net"
	"strconv"
	"strings"
)

// Names that apply when a configuration leaves the value out; they are Nacos'
// own (Constants.DEFAULT_GROUP, DEFAULT_CLUSTER_NAME, DEFAULT_NAMESPACE_ID).
const (
	DefaultNamespace = "public"
	DefaultGroup     = "DEFAULT_GROUP"
	DefaultCluster   = "DEFAULT"
)

// Metadata keys with a meaning to the registry or to callers
// (client-behaviour B.3). The three durations are whole milliseconds in
// decimal text.
const (
	MetadataBeatInterval   = "preserved.heart.beat.interval"
	MetadataBeatTimeout    = "preserved.heart.beat.timeout"
	MetadataDeleteTimeout  = "preserved.ip.delete.timeout"
	MetadataRegisterSource = "preserved.register.source"
	MetadataSecure         = "secure"
	MetadataManagementPort = "management.port"
	MetadataIPv6           = "IPv6" // an IPv6 address beside the instance's IP, in brackets
)

// ServiceID names a service: a name within a group within a namespace. The zero
// value of Namespace and Group means the default one; [ServiceID.Normalize]
// fills them in, and everything that stores or compares a ServiceID keeps the
// normalised form.
type ServiceID struct {
	// Namespace is the namespace id, not its display name; "" is "public".
	Namespace string
	// Group is the group inside the namespace; "" is "DEFAULT_GROUP".
	Group string
	// Name is the bare service name, without a group.
	Name string
}

// Normalize returns id with the default namespace and group filled in.
func (id ServiceID) Normalize() ServiceID {
	if id.Namespace == "" {
		id.Namespace = DefaultNamespace
	}
	if id.Group == "" {
		id.Group = DefaultGroup
	}
	return id
}

// Grouped returns Nacos' grouped service name, "group@@name".
func (id ServiceID) Grouped() string {
	return id.Normalize().Group + "@@" + id.Name
}

// String returns "namespace/group@@name" for logs and errors. It is never
// parsed.
func (id ServiceID) String() string {
	id = id.Normalize()
	return id.Namespace + "/" + id.Grouped()
}

// Instance is one address at which a service is offered. It is a value: once it
// is part of a published list nobody changes it, Metadata included; whoever
// wants a changed one takes a [Instance.Clone] first.
type Instance struct {
	// ID is the id that the registry gave the instance; empty until then.
	ID string
	// Service is the service the instance belongs to.
	Service ServiceID
	// IP is an IPv4 or IPv6 literal without brackets, or a host name.
	IP string
	// Port is 0 to 65535.
	Port int
	// Cluster is Nacos' cluster within the service; "" is "DEFAULT".
	Cluster string
	// Weight is the share of traffic relative to the other instances, 0 to
	// 10000; 0 means no traffic.
	Weight float64
	// Healthy is what the registry believes; a registration states the initial
	// value.
	Healthy bool
	// Enabled is the operator's switch: a disabled instance gets no traffic and
	// is left out of the lists a registry answers.
	Enabled bool
	// Ephemeral instances live as long as their beats; others are kept until
	// they are deregistered.
	Ephemeral bool
	// Metadata is free text by case-exact key. Nil and empty are equal.
	Metadata map[string]string
}

// NewInstance returns an instance with the defaults of a registration: cluster
// DEFAULT, weight 1, healthy, enabled, ephemeral.
func NewInstance(service ServiceID, ip string, port int) Instance {
	return Instance{
		Service: service.Normalize(), IP: ip, Port: port, Cluster: DefaultCluster,
		Weight: 1, Healthy: true, Enabled: true, Ephemeral: true,
	}
}

// Clone returns a copy that shares nothing with i.
func (i Instance) Clone() Instance {
	i.Metadata = maps.Clone(i.Metadata)
	return i
}

// Address returns "ip:port", IPv6 in brackets, as net.Dial takes it.
func (i Instance) Address() string {
	return net.JoinHostPort(strings.Trim(i.IP, "[]"), strconv.Itoa(i.Port))
}

// Secure reports whether the metadata says that callers use TLS.
func (i Instance) Secure() bool {
	return strings.EqualFold(i.Metadata[MetadataSecure], "true")
}

// Key identifies an instance within everything: two instances with equal keys
// are the same instance (client case 24: the cluster is part of it).
type Key struct {
	Service ServiceID
	Cluster string
	IP      string
	Port    int
}

// Key returns the identity of i.
func (i Instance) Key() Key {
	cluster := i.Cluster
	if cluster == "" {
		cluster = DefaultCluster
	}
	return Key{Service: i.Service.Normalize(), Cluster: cluster, IP: strings.Trim(i.IP, "[]"), Port: i.Port}
}
