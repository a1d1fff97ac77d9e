package server

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/probe"
	"github.com/rollcall-go/rollcall/server/push"
)

// Properties is the block nacos: settings of the registry, under Nacos' own names
// where it has them. The web server, the log and the metrics are the blocks
// server, logging and management of package autoconfig.
type Properties struct {
	// Storage says where data is kept.
	Storage StorageProperties `mapstructure:"storage"`
	// Naming says how services and instances end.
	Naming NamingProperties `mapstructure:"naming"`
	// Push says whom the server may send UDP datagrams to.
	Push PushProperties `mapstructure:"push"`
	// Connections bounds what one client can hold of the web server.
	Connections ConnectionProperties `mapstructure:"connections"`
	// Load says when there are too many requests.
	Load LoadProperties `mapstructure:"load"`
	// Probe is about the health checks of persistent instances.
	Probe ProbeProperties `mapstructure:"probe"`
	// Core holds the settings that Nacos shares between its parts.
	Core CoreProperties `mapstructure:"core"`
	// InetUtils says who this server is.
	InetUtils InetUtilsProperties `mapstructure:"inetutils"`
}

// StorageProperties is the block nacos.storage.
type StorageProperties struct {
	// Dir is the data directory, "./rollcall-data". It is made when it is not
	// there, and belongs to one process at a time.
	Dir string `mapstructure:"dir"`
	// InMemory keeps everything in memory, where it ends with the process, false.
	InMemory bool `mapstructure:"in-memory"`
	// SnapshotPeriod is how often the instances that beat are written down, if they
	// changed, 30s. They are written at the end in any case, and what an operator
	// changed of them within seconds.
	SnapshotPeriod time.Duration `mapstructure:"snapshot-period"`
}

// CoreProperties is the block nacos.core.
type CoreProperties struct {
	// Auth is about who may do what.
	Auth AuthProperties `mapstructure:"auth"`
}

// AuthProperties is the block nacos.core.auth.
type AuthProperties struct {
	// Enabled asks for a token or a name and password, and lets nobody do what no
	// permission allows, false.
	Enabled bool `mapstructure:"enabled"`
	// Default are the settings of the one kind of authentication there is.
	Default AuthDefaultProperties `mapstructure:"default"`
	// Enable holds what Nacos can trust besides; nothing of it can be switched on.
	Enable AuthEnableProperties `mapstructure:"enable"`
}

// AuthDefaultProperties is the block nacos.core.auth.default.
type AuthDefaultProperties struct {
	// Token are the settings of login tokens.
	Token TokenProperties `mapstructure:"token"`
}

// TokenProperties is the block nacos.core.auth.default.token.
type TokenProperties struct {
	// Secret is what tokens are signed with.
	Secret TokenSecretProperties `mapstructure:"secret"`
	// Expire is how long they are valid.
	Expire TokenExpireProperties `mapstructure:"expire"`
}

// TokenSecretProperties is the block nacos.core.auth.default.token.secret.
type TokenSecretProperties struct {
	// Key is 32 random bytes or more in base64; "" has one made and kept with the
	// data.
	Key string `mapstructure:"key"`
}

// TokenExpireProperties is the block nacos.core.auth.default.token.expire.
type TokenExpireProperties struct {
	// Seconds is how long a token is valid, 18000.
	Seconds int `mapstructure:"seconds"`
}

// AuthEnableProperties is the block nacos.core.auth.enable.
type AuthEnableProperties struct {
	// UserAgentAuthWhite would let whoever calls himself Nacos-Server do everything.
	// True stops the start.
	UserAgentAuthWhite bool `mapstructure:"userAgentAuthWhite"`
}

// ConnectionProperties is the block nacos.connections.
type ConnectionProperties struct {
	// PerAddress bounds the open connections from one IP address, 4096; who opens
	// more is answered 503. 0 is no bound, as for clients behind one proxy.
	PerAddress int `mapstructure:"per-address"`
}

// LoadProperties is the block nacos.load: what is beyond it is answered 503, reads
// before changes before beats, and counted.
type LoadProperties struct {
	// MaxRequests bounds the changes and the beats that are worked on at the same
	// time, 4096 each, and reads to half of that; 0 is no bound.
	MaxRequests int `mapstructure:"max-requests"`
	// MaxWait is how long a request may wait for a processor, 500ms; while they wait
	// longer, for a second and more, more and more reads are refused, unless there are
	// fewer than 100 a second. 0 refuses none for that.
	MaxWait time.Duration `mapstructure:"max-wait"`
}

// NamingProperties is the block nacos.naming.
type NamingProperties struct {
	// ExpireInstance removes instances that have been silent for their delete
	// timeout, true. When false they are only marked unhealthy.
	ExpireInstance bool `mapstructure:"expireInstance"`
	// EmptyService is about services without instances.
	EmptyService EmptyServiceProperties `mapstructure:"empty-service"`
}

// EmptyServiceProperties is the block nacos.naming.empty-service.
type EmptyServiceProperties struct {
	// AutoClean removes services that were found empty five times in a row and have
	// no settings of their own, true.
	AutoClean bool `mapstructure:"auto-clean"`
	// Clean says when they are looked at.
	Clean CleanProperties `mapstructure:"clean"`
}

// CleanProperties is the block nacos.naming.empty-service.clean.
type CleanProperties struct {
	// InitialDelayMS is the time before the first look, in milliseconds, 50000.
	InitialDelayMS int `mapstructure:"initial-delay-ms"`
	// PeriodTimeMS is the time between two looks, in milliseconds, 30000.
	PeriodTimeMS int `mapstructure:"period-time-ms"`
}

// PushProperties is the block nacos.push.
type PushProperties struct {
	// Address is the IP address that datagrams are sent from and acknowledgements
	// are received on; "" is all of them, also where server.address is one: behind
	// a proxy of this machine the clients are elsewhere.
	Address string `mapstructure:"address"`
	// RequesterOnly pushes only to the address a list request came from, false.
	// It keeps a client from having somebody else pushed to, and cannot be used
	// when clients come through a proxy.
	RequesterOnly bool `mapstructure:"requester-only"`
	// Window is the time after a push in which further changes of that service are
	// gathered, 500ms.
	Window time.Duration `mapstructure:"window"`
	// MaxSubscriptions bounds all subscriptions, 200000; who comes later polls.
	MaxSubscriptions int `mapstructure:"max-subscriptions"`
	// MaxPerService bounds the subscriptions of one service, 20000.
	MaxPerService int `mapstructure:"max-per-service"`
	// RatePerHost bounds the datagrams a second to one IP address, 200.
	RatePerHost int `mapstructure:"rate-per-host"`
}

// ProbeProperties is the block nacos.probe. How often and how patiently is asked
// are switches.
type ProbeProperties struct {
	// Workers bounds the probes that are under way at the same time, 256.
	Workers int `mapstructure:"workers"`
}

// InetUtilsProperties is the block nacos.inetutils.
type InetUtilsProperties struct {
	// IPAddress is the address this server is shown with; "" is the one it listens
	// on, or one of the machine's.
	IPAddress string `mapstructure:"ip-address"`
}

// DefaultProperties returns the defaults of the block nacos.
func DefaultProperties() Properties {
	return Properties{
		Storage:     StorageProperties{Dir: "./rollcall-data", SnapshotPeriod: 30 * time.Second},
		Connections: ConnectionProperties{PerAddress: 4096},
		Load:        LoadProperties{MaxRequests: 4096, MaxWait: 500 * time.Millisecond},
		Naming: NamingProperties{
			ExpireInstance: true,
			EmptyService: EmptyServiceProperties{
				AutoClean: true,
				Clean:     CleanProperties{InitialDelayMS: 50_000, PeriodTimeMS: 30_000},
			},
		},
		Push: PushProperties{
			Window: 500 * time.Millisecond, MaxSubscriptions: 200_000, MaxPerService: 20_000, RatePerHost: 200,
		},
		Probe: ProbeProperties{Workers: probe.DefaultWorkers},
		Core: CoreProperties{Auth: AuthProperties{Default: AuthDefaultProperties{Token: TokenProperties{
			Expire: TokenExpireProperties{Seconds: int(auth.DefaultTokenTTL / time.Second)},
		}}}},
	}
}

// Validate reports every value that cannot work.
func (p *Properties) Validate() error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, errors.New(key+": "+fmt.Sprintf(format, args...)))
	}
	atLeast := func(key string, value, least int) {
		if value < least {
			bad(key, "must be %d or more", least)
		}
	}
	if !p.Storage.InMemory && strings.TrimSpace(p.Storage.Dir) == "" {
		bad("storage.dir", "is empty; set storage.in-memory to keep nothing")
	}
	if p.Storage.SnapshotPeriod < time.Second {
		bad("storage.snapshot-period", "must be 1s or more")
	}
	atLeast("naming.empty-service.clean.initial-delay-ms", p.Naming.EmptyService.Clean.InitialDelayMS, 1)
	atLeast("naming.empty-service.clean.period-time-ms", p.Naming.EmptyService.Clean.PeriodTimeMS, 1)
	atLeast("push.max-subscriptions", p.Push.MaxSubscriptions, 1)
	atLeast("push.max-per-service", p.Push.MaxPerService, 1)
	atLeast("push.rate-per-host", p.Push.RatePerHost, 1)
	atLeast("probe.workers", p.Probe.Workers, 2)
	if p.Push.Window < time.Millisecond {
		bad("push.window", "must be 1ms or more")
	}
	if p.Connections.PerAddress < 0 {
		errs = append(errs, errors.New("connections.per-address: must not be negative"))
	}
	if p.Load.MaxRequests < 0 || p.Load.MaxRequests == 1 {
		bad("load.max-requests", "must be 2 or more, or 0 for no bound")
	}
	if p.Load.MaxWait < 0 {
		bad("load.max-wait", "must not be negative")
	}
	if p.Push.Address != "" {
		if _, err := netip.ParseAddr(p.Push.Address); err != nil {
			bad("push.address", "must be an IP address")
		}
	}
	return errors.Join(append(errs, p.Core.Auth.validate())...)
}

func (p *AuthProperties) validate() error {
	var errs []error
	if key := p.Default.Token.Secret.Key; key != "" {
		if _, err := auth.ParseKey(key); err != nil {
			errs = append(errs, fmt.Errorf("core.auth.default.token.secret.key: %w", err))
		}
	}
	if p.Default.Token.Expire.Seconds < 1 {
		errs = append(errs, errors.New("core.auth.default.token.expire.seconds: must be 1 or more"))
	}
	if p.Enable.UserAgentAuthWhite {
		errs = append(errs, errors.New("core.auth.enable.userAgentAuthWhite: no agent is trusted here, so it must be false"))
	}
	return errors.Join(errs...)
}

func (p *AuthProperties) ttl() time.Duration {
	return time.Duration(p.Default.Token.Expire.Seconds) * time.Second
}

func (p *Properties) naming() naming.Options {
	empty := p.Naming.EmptyService
	return naming.Options{
		KeepExpired: !p.Naming.ExpireInstance,
		KeepEmpty:   !empty.AutoClean,
		SweepDelay:  time.Duration(empty.Clean.InitialDelayMS) * time.Millisecond,
		SweepPeriod: time.Duration(empty.Clean.PeriodTimeMS) * time.Millisecond,
	}
}

func (p *Properties) push() push.Options {
	return push.Options{
		RequesterOnly: p.Push.RequesterOnly, Window: p.Push.Window, MaxSubscriptions: p.Push.MaxSubscriptions,
		MaxPerService: p.Push.MaxPerService, RatePerHost: p.Push.RatePerHost,
	}
}
