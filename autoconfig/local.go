package autoconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/discovery/static"
	"github.com/rollcall-go/rollcall/internal/netaddr"
	"github.com/rollcall-go/rollcall/registry"
)

// LocalInstanceProperties is the block cloud.discovery.client.simple.local: who
// this process is to those who look at it, whether or not it registers. It says
// nothing to the registry, and calls by name do not go by it.
type LocalInstanceProperties struct {
	// ServiceID is the name of the service, "": the one that is registered.
	ServiceID string `mapstructure:"service-id"`
	// InstanceID stands for this process where application.instance-id does not,
	// "": host:name:port.
	InstanceID string `mapstructure:"instance-id"`
	// Host is an address or host name, "": what is registered, else the host's name.
	Host string `mapstructure:"host"`
	// Port is 1 to 65535, 0: what is registered, else the web server's.
	Port int `mapstructure:"port"`
	// Secure says that the instance speaks https, off.
	Secure bool `mapstructure:"secure"`
	// URI such as https://10.0.0.1:8443, in place of host, port and secure, "".
	URI string `mapstructure:"uri"`
	// Metadata is free text by case-exact key, {}. Its zone is that of calls by name
	// where cloud.nacos.discovery.metadata has none.
	Metadata map[string]string `mapstructure:"metadata"`
}

// place returns host, port and scheme as far as they are configured.
func (p *LocalInstanceProperties) place() (host string, port int, secure bool, err error) {
	if p.URI == "" {
		if p.Port < 0 || p.Port > 65535 {
			return "", 0, false, errors.New("port: must be 1 to 65535, or 0 for what is registered")
		}
		if _, err := static.ParseInstance(net.JoinHostPort(cmp.Or(p.Host, "localhost"), "1")); err != nil {
			return "", 0, false, fmt.Errorf("host: %w", err)
		}
		return p.Host, p.Port, p.Secure, nil
	}
	if p.Host != "" || p.Port != 0 {
		return "", 0, false, errors.New("uri: stands in place of host and port, which are set as well")
	}
	i, err := static.ParseInstance(p.URI)
	if err != nil {
		return "", 0, false, fmt.Errorf("uri: %w", err)
	}
	return i.IP, i.Port, p.Secure || i.Secure(), nil
}

// localView is the local instance as Spring describes an instance of a service.
type localView struct {
	ServiceID  string            `json:"serviceId"`
	InstanceID string            `json:"instanceId"`
	Host       string            `json:"host"`
	Port       int               `json:"port"`
	Secure     bool              `json:"secure"`
	URI        string            `json:"uri"`
	Metadata   map[string]string `json:"metadata"`
}

// localInstance returns what describes this process at any moment of its life.
func (s *settings) localInstance(i *inside) func() localView {
	p := s.discovery.Client.Simple.Local
	host, port, secure, _ := p.place() // validated
	base := localView{
		ServiceID: p.ServiceID, InstanceID: s.configuredInstanceID(), Host: host, Port: port, Secure: secure, Metadata: maps.Clone(p.Metadata),
	}
	service, name, hostname := s.serviceID().Name, s.application.Name, s.hostname()
	return func() localView {
		v := base
		registered := registry.Registration{}
		if i.registration != nil {
			registered = i.registration.Registration()
		}
		v.ServiceID = cmp.Or(v.ServiceID, registered.Service.Name, service)
		v.Host = cmp.Or(v.Host, registered.IP, hostname)
		v.Port = cmp.Or(v.Port, registered.Port, int(i.webPort.Load()))
		v.InstanceID = cmp.Or(v.InstanceID, instanceID(hostname, name, v.Port))
		scheme, usual := "http", 80
		if v.Secure {
			scheme, usual = "https", 443
		}
		at := url.URL{Scheme: scheme, Host: net.JoinHostPort(v.Host, strconv.Itoa(cmp.Or(v.Port, usual)))}
		v.URI = at.String()
		return v
	}
}

// configuredInstanceID is what stands for this process by the configuration.
func (s *settings) configuredInstanceID() string {
	return cmp.Or(s.application.InstanceID, s.discovery.Client.Simple.Local.InstanceID)
}

// instanceID stands for this process before its port is known as well, if the
// configuration says so; otherwise it is "" until then.
func (s *settings) instanceID() string {
	if id := s.configuredInstanceID(); id != "" {
		return id
	}
	port := s.server.Port
	if s.nacos.Discovery.Port > 0 {
		port = s.nacos.Discovery.Port
	}
	return instanceID(s.hostname(), s.application.Name, port)
}

// instanceID is Spring's id of an instance; "" without a port, which another
// process of this host has as well.
func instanceID(host, name string, port int) string {
	if port <= 0 {
		return ""
	}
	return strings.Trim(fmt.Sprintf("%s:%s:%d", host, name, port), ":")
}

// zone is the one of this process, which its calls prefer.
func (s *settings) zone() string {
	return cmp.Or(s.nacos.Discovery.Metadata["zone"], s.discovery.Client.Simple.Local.Metadata["zone"])
}

// localInfo is the metric about the local instance: always 1, with what others
// are joined by in its labels.
type localInfo struct{ local func() localView }

var localInfoDesc = prometheus.NewDesc("rollcall_discovery_local_instance_info",
	"Always 1; the labels say who this process is.", []string{"service", "instance", "host", "port", "secure"}, nil)

// Describe implements [prometheus.Collector].
func (localInfo) Describe(to chan<- *prometheus.Desc) { to <- localInfoDesc }

// Collect implements [prometheus.Collector].
func (c localInfo) Collect(to chan<- prometheus.Metric) {
	v := c.local()
	to <- prometheus.MustNewConstMetric(localInfoDesc, prometheus.GaugeValue, 1,
		v.ServiceID, v.InstanceID, v.Host, strconv.Itoa(v.Port), strconv.FormatBool(v.Secure))
}

// host is what this machine says of itself.
type host struct {
	// name is what the operating system calls it.
	name func() (string, error)
	// lookup are the names of an address.
	lookup func(ctx context.Context, address string) ([]string, error)
	// interfaces are its addresses.
	interfaces netaddr.Lister
}

func thisHost() *host { return &host{os.Hostname, net.DefaultResolver.LookupAddr, netaddr.System{}} }

// hostname is what the system calls this host; nothing is looked up (B-R3).
func (s *settings) hostname() string {
	if name, err := s.host.name(); err == nil && name != "" {
		return name
	}
	return s.inetutils.DefaultHostname
}

// nameOf is what others call this host by its address, which is looked up for as
// long as cloud.inetutils.timeout says, else what the system calls it. Only a
// placeholder asks, so that no start waits that needs an address alone (B-R3).
func (s *settings) nameOf(address string) string {
	ip, err := netip.ParseAddr(address)
	switch {
	case err != nil:
		return address // a name already
	case s.inetutils.Timeout <= 0, ip.IsLoopback():
		return s.hostname()
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.inetutils.Timeout)
	defer cancel()
	names, err := s.host.lookup(ctx, address)
	if err != nil || len(names) == 0 {
		return s.hostname()
	}
	return strings.TrimSuffix(names[0], ".")
}
