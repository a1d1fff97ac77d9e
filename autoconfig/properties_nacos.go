package autoconfig

import (
	"cmp"
	"errors"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// NacosProperties is the block cloud.nacos.
type NacosProperties struct {
	// ServerAddr is one registry: its nodes as host, host:port, [v6]:port or
	// http(s)://host[:port][/context-path], 127.0.0.1:8848.
	ServerAddr []string `mapstructure:"server-addr"`
	// Username and Password log in where the registry asks for it; no username, no
	// login.
	Username string `mapstructure:"username"`
	Password string `mapstructure:"password"`
	// Discovery is what is registered and how services are looked up.
	Discovery NacosDiscoveryProperties `mapstructure:"discovery"`
}

// NacosDiscoveryProperties is the block cloud.nacos.discovery.
type NacosDiscoveryProperties struct {
	// Enabled uses a Nacos registry, on.
	Enabled bool `mapstructure:"enabled"`
	// ServerAddr, Username and Password take the place of those of cloud.nacos,
	// each for itself; empty leaves it.
	ServerAddr []string `mapstructure:"server-addr"`
	Username   string   `mapstructure:"username"`
	Password   string   `mapstructure:"password"`
	// AccessKey and SecretKey sign each request, for registries that ask for it.
	AccessKey string `mapstructure:"access-key"`
	SecretKey string `mapstructure:"secret-key"`
	// Endpoint is an address server, host[:port] or http(s)://host[:port]; its list
	// of nodes takes the place of server-addr. "" is none.
	Endpoint string `mapstructure:"endpoint"`
	// EndpointPort completes an endpoint without a port, 8080.
	EndpointPort int `mapstructure:"endpoint-port"`
	// ContextPath stands before every path of the registry: "" is /nacos, "/" none.
	ContextPath string `mapstructure:"context-path"`
	// Namespace is the id of the namespace, not its display name; "" is public.
	Namespace string `mapstructure:"namespace"`
	// Service is the name to register; "" is application.name.
	Service string `mapstructure:"service"`
	// Group to register in and to look services up in, DEFAULT_GROUP.
	Group string `mapstructure:"group"`
	// ClusterName of this instance, and the one its calls prefer, DEFAULT.
	ClusterName string `mapstructure:"cluster-name"`
	// Weight is the share of traffic, 1; 0 to 10000, 0 means none.
	Weight float64 `mapstructure:"weight"`
	// Metadata is free text by case-exact key, {}.
	Metadata map[string]string `mapstructure:"metadata"`
	// RegisterEnabled false looks services up without registering, on.
	RegisterEnabled bool `mapstructure:"register-enabled"`
	// InstanceEnabled false registers without traffic, on.
	InstanceEnabled bool `mapstructure:"instance-enabled"`
	// Ephemeral instances live by beats, on; others are kept by the registry.
	Ephemeral bool `mapstructure:"ephemeral"`
	// IP to register, an address or a host name; "" chooses one.
	IP string `mapstructure:"ip"`
	// NetworkInterface is the one to take the address from; "" looks at all.
	NetworkInterface string `mapstructure:"network-interface"`
	// IPType is IPv4, IPv6 or "": IPv4, with an IPv6 address in the metadata.
	IPType string `mapstructure:"ip-type"`
	// Port to register, -1: the web server's.
	Port int `mapstructure:"port"`
	// Secure says in the metadata that callers are to use https, off.
	Secure bool `mapstructure:"secure"`
	// HeartBeatInterval, HeartBeatTimeout and IPDeleteTimeout are how often the
	// instance beats, and after how long without a beat the registry counts it as
	// unhealthy and removes it. 0 leaves each to the registry: 5s, 15s, 30s.
	HeartBeatInterval time.Duration `mapstructure:"heart-beat-interval"`
	HeartBeatTimeout  time.Duration `mapstructure:"heart-beat-timeout"`
	IPDeleteTimeout   time.Duration `mapstructure:"ip-delete-timeout"`
	// AllowShortBeat admits beat intervals below a second, off.
	AllowShortBeat bool `mapstructure:"allow-short-beat"`
	// FailFast makes a failing registration an error of the start, on; off tries
	// again in the background.
	FailFast bool `mapstructure:"fail-fast"`
	// RegisterRetry are the pauses between those attempts.
	RegisterRetry RegisterRetryProperties `mapstructure:"register-retry"`
	// FailureTolerance keeps the last list of a service in use while the registry
	// fails, on; off makes a lookup an error meanwhile.
	FailureTolerance bool `mapstructure:"failure-tolerance-enabled"`
	// FailureToleranceMaxAge ends that for lists older than this, 0s: never.
	FailureToleranceMaxAge time.Duration `mapstructure:"failure-tolerance-max-age"`
	// LoadCacheAtStart keeps the lists in files, and uses those of an earlier process
	// while the registry cannot be asked, off.
	LoadCacheAtStart bool `mapstructure:"naming-load-cache-at-start"`
	// CacheDir is the folder of the files, which are written when it is set; "" is
	// nacos/naming/<namespace>-<hash> in the user's cache folder, when the files are
	// needed, where the hash is of the registry's addresses at the start.
	CacheDir string `mapstructure:"naming-cache-dir"`
	// SnapshotMaxAge is how old a file may be that is used without failure
	// tolerance, 24h.
	SnapshotMaxAge time.Duration `mapstructure:"snapshot-max-age"`
	// Failover looks for the operator's switch and lists in the folder failover below
	// the cache folder, off.
	Failover bool `mapstructure:"failover-enabled"`
	// EmptyProtection does not believe an empty answer for a service that had
	// instances, off.
	EmptyProtection bool `mapstructure:"naming-push-empty-protection"`
	// EmptyProtectionTTL is for how long, 5m.
	EmptyProtectionTTL time.Duration `mapstructure:"empty-protection-ttl"`
	// MaxRetries is how often a request is sent at most to a registry of one node,
	// 3; of several, each is asked once.
	MaxRetries int `mapstructure:"naming-request-domain-max-retry-count"`
	// ConnectTimeout bounds making a connection to the registry, 3s.
	ConnectTimeout time.Duration `mapstructure:"connect-timeout"`
	// RequestTimeout bounds one request, 5s; a call takes twice as long at most.
	RequestTimeout time.Duration `mapstructure:"request-timeout"`
	// RefreshInterval is the time between two looks at a service, 0s: what the
	// registry asks for.
	RefreshInterval time.Duration `mapstructure:"refresh-interval"`
	// MaxBackOff bounds that time while the registry fails, 60s.
	MaxBackOff time.Duration `mapstructure:"max-back-off"`
	// FirstFetchTimeout bounds the wait of the first caller of a service, 5s.
	FirstFetchTimeout time.Duration `mapstructure:"first-fetch-timeout"`
	// ServerListRefresh is how often the endpoint is asked again, and the names of
	// the nodes are looked up again, 30s.
	ServerListRefresh time.Duration `mapstructure:"server-list-refresh-interval"`
	// Watch adopts weight and metadata that an operator changes at the registry,
	// off.
	Watch Switch `mapstructure:"watch"`
	// HeartBeat publishes registry.Heartbeat events when the catalogue of services
	// changed, off.
	HeartBeat Switch `mapstructure:"heart-beat"`
	// WatchDelay is the time between two looks at the catalogue for them, 30s.
	WatchDelay time.Duration `mapstructure:"watch-delay"`
	// LogName is the name of the registry client's logger; "" is naming.
	LogName string `mapstructure:"log-name"`
	// Push has the registry tell of changes over UDP.
	Push PushProperties `mapstructure:"push"`
	// TLS to the registry.
	TLS TLSProperties `mapstructure:"tls"`
}

// RegisterRetryProperties is the block cloud.nacos.discovery.register-retry.
type RegisterRetryProperties struct {
	// Initial is the first pause, 1s; each further one is twice as long.
	Initial time.Duration `mapstructure:"initial"`
	// Max is the longest pause, 30s.
	Max time.Duration `mapstructure:"max"`
	// Jitter varies each pause at random by up to this fraction, 0.2.
	Jitter float64 `mapstructure:"jitter"`
}

// PushProperties is the block cloud.nacos.discovery.push.
type PushProperties struct {
	// Enabled opens a UDP port and tells the registry of it, off.
	Enabled bool `mapstructure:"enabled"`
	// Port of the socket, 0: a free one.
	Port int `mapstructure:"port"`
	// AdvertiseIP is where the registry is to send to; "" is the local address of
	// the route to the registry.
	AdvertiseIP string `mapstructure:"advertise-ip"`
}

// TLSProperties is the block cloud.nacos.discovery.tls.
type TLSProperties struct {
	// Enabled makes https the scheme of servers that name none, off. Where every
	// server names its scheme, the other keys count without it.
	Enabled bool `mapstructure:"enabled"`
	// CAFile is a PEM file of authorities to trust instead of the system's.
	CAFile string `mapstructure:"ca-file"`
	// CertFile and KeyFile are this client's own certificate, when asked for one.
	CertFile string `mapstructure:"cert-file"`
	KeyFile  string `mapstructure:"key-file"`
	// InsecureSkipVerify takes any certificate, off; for tests.
	InsecureSkipVerify bool `mapstructure:"insecure-skip-verify"`
}

// DefaultNacosProperties returns the defaults of the block cloud.nacos.
func DefaultNacosProperties() NacosProperties {
	auto := registry.DefaultAutoOptions()
	return NacosProperties{
		ServerAddr: []string{"127.0.0.1:8848"},
		Discovery: NacosDiscoveryProperties{
			Enabled:           true,
			Group:             registry.DefaultGroup,
			ClusterName:       registry.DefaultCluster,
			Weight:            1,
			RegisterEnabled:   true,
			InstanceEnabled:   true,
			Ephemeral:         true,
			Port:              -1,
			FailFast:          auto.FailFast,
			RegisterRetry:     RegisterRetryProperties{Initial: auto.Retry.Initial, Max: auto.Retry.Max, Jitter: auto.Retry.Jitter},
			MaxRetries:        3,
			ConnectTimeout:    3 * time.Second,
			RequestTimeout:    5 * time.Second,
			MaxBackOff:        discovery.DefaultMaxBackOff,
			FirstFetchTimeout: discovery.DefaultFirstFetchTimeout,

			EndpointPort:       8080,
			FailureTolerance:   true,
			SnapshotMaxAge:     discovery.DefaultSnapshotMaxAge,
			EmptyProtectionTTL: discovery.DefaultEmptyProtectionTTL,
			ServerListRefresh:  30 * time.Second,
			WatchDelay:         discovery.DefaultHeartbeatDelay,
		},
	}
}

// Validate reports every value that cannot work.
func (p *NacosProperties) Validate() error {
	d := &p.Discovery
	var errs []error
	if d.Port != -1 && (d.Port < 1 || d.Port > math.MaxUint16) {
		errs = append(errs, errors.New("discovery.port: must be 1 to 65535, or -1 for the web server's port"))
	}
	if math.IsNaN(d.Weight) || d.Weight < 0 || d.Weight > 10000 {
		errs = append(errs, errors.New("discovery.weight: must be 0 to 10000"))
	}
	if d.EndpointPort < 1 || d.EndpointPort > math.MaxUint16 {
		errs = append(errs, errors.New("discovery.endpoint-port: must be 1 to 65535"))
	}
	if (d.AccessKey == "") != (d.SecretKey == "") {
		errs = append(errs, errors.New("discovery.access-key: needs secret-key, and secret-key needs it"))
	}
	if d.MaxRetries < 1 {
		errs = append(errs, errors.New("discovery.naming-request-domain-max-retry-count: must be 1 or more"))
	}
	if d.Push.Port < 0 || d.Push.Port > math.MaxUint16 {
		errs = append(errs, errors.New("discovery.push.port: must be 0 to 65535"))
	}
	if ip := d.Push.AdvertiseIP; ip != "" {
		if addr, err := netip.ParseAddr(ip); err != nil || addr.IsUnspecified() || addr.IsMulticast() {
			errs = append(errs, errors.New("discovery.push.advertise-ip: must be the IP address of this host"))
		}
	}
	if (d.TLS.CertFile == "") != (d.TLS.KeyFile == "") {
		errs = append(errs, errors.New("discovery.tls.cert-file: needs key-file, and key-file needs it"))
	}
	errs = append(errs,
		checkBeats(d.HeartBeatInterval, d.HeartBeatTimeout, d.IPDeleteTimeout, d.AllowShortBeat),
		positive("discovery.connect-timeout", d.ConnectTimeout),
		positive("discovery.request-timeout", d.RequestTimeout),
		positive("discovery.first-fetch-timeout", d.FirstFetchTimeout),
		positive("discovery.max-back-off", d.MaxBackOff),
		notNegative("discovery.refresh-interval", d.RefreshInterval),
		notNegative("discovery.failure-tolerance-max-age", d.FailureToleranceMaxAge),
		positive("discovery.snapshot-max-age", d.SnapshotMaxAge),
		positive("discovery.empty-protection-ttl", d.EmptyProtectionTTL),
		positive("discovery.server-list-refresh-interval", d.ServerListRefresh),
		positive("discovery.watch-delay", d.WatchDelay),
	)
	return errors.Join(errs...)
}

// servers, username and password are the effective ones: those of the block
// discovery before the common ones. With an address server there are none.
func (p *NacosProperties) servers() (addresses []string, key string) {
	if p.Discovery.Endpoint != "" {
		return nil, "cloud.nacos.discovery.endpoint"
	}
	if len(p.Discovery.ServerAddr) > 0 {
		return p.Discovery.ServerAddr, "cloud.nacos.discovery.server-addr"
	}
	return p.ServerAddr, "cloud.nacos.server-addr"
}

// Each stands for itself, as in Spring Cloud Alibaba: a password in the block
// discovery is that of a common username.
func (p *NacosProperties) login() (username, password string) {
	return cmp.Or(p.Discovery.Username, p.Username), cmp.Or(p.Discovery.Password, p.Password)
}

// addresses are what tells one registry from another.
func (p *NacosProperties) addresses() []string {
	if endpoint := p.Discovery.Endpoint; endpoint != "" {
		return []string{endpoint, strconv.Itoa(p.Discovery.EndpointPort)}
	}
	servers, _ := p.servers()
	return servers
}

// describe names the registry for log lines.
func (p *NacosProperties) describe() string {
	if endpoint := p.Discovery.Endpoint; endpoint != "" {
		return endpoint
	}
	servers, _ := p.servers()
	return strings.Join(servers, ",")
}
