package server

import (
	"errors"
	"net/netip"
	"time"

	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/push"
)

// Properties is the block nacos: settings of the registry, under Nacos' own names
// where it has them. The web server's settings are the block server.
type Properties struct {
	// Naming says how services and instances end.
	Naming NamingProperties `mapstructure:"naming"`
	// Push says whom the server may send UDP datagrams to.
	Push PushProperties `mapstructure:"push"`
	// Connections bounds what one client can hold of the web server.
	Connections ConnectionProperties `mapstructure:"connections"`
	// Core is read for one thing alone: not to run open where it was to be closed.
	Core CoreProperties `mapstructure:"core"`
}

// CoreProperties is the block nacos.core.
type CoreProperties struct {
	// Auth is about who may do what.
	Auth AuthProperties `mapstructure:"auth"`
}

// AuthProperties is the block nacos.core.auth.
type AuthProperties struct {
	// Enabled asks for authentication, false. True stops the start, since this
	// server has none yet.
	Enabled bool `mapstructure:"enabled"`
}

// ConnectionProperties is the block nacos.connections.
type ConnectionProperties struct {
	// PerAddress bounds the open connections from one IP address, 1024; who opens
	// more is answered 503. 0 is no bound, as for clients behind one proxy.
	PerAddress int `mapstructure:"per-address"`
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
	// AutoClean removes services that were found empty five times in a row, true.
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
	// are received on; "" is all of them.
	Address string `mapstructure:"address"`
	// RequesterOnly pushes only to the address a list request came from, false.
	// It keeps a client from having somebody else pushed to, and cannot be used
	// when clients come through a proxy.
	RequesterOnly bool `mapstructure:"requester-only"`
}

// DefaultProperties returns the defaults of the block nacos.
func DefaultProperties() Properties {
	return Properties{Connections: ConnectionProperties{PerAddress: 1024}, Naming: NamingProperties{
		ExpireInstance: true,
		EmptyService: EmptyServiceProperties{
			AutoClean: true,
			Clean:     CleanProperties{InitialDelayMS: 50_000, PeriodTimeMS: 30_000},
		},
	}}
}

// Validate reports every value that cannot work.
func (p *Properties) Validate() error {
	var errs []error
	if p.Core.Auth.Enabled {
		errs = append(errs, errors.New("core.auth.enabled: authentication is not offered yet, so it must be false"))
	}
	if p.Naming.EmptyService.Clean.InitialDelayMS < 1 {
		errs = append(errs, errors.New("naming.empty-service.clean.initial-delay-ms: must be 1 or more"))
	}
	if p.Naming.EmptyService.Clean.PeriodTimeMS < 1 {
		errs = append(errs, errors.New("naming.empty-service.clean.period-time-ms: must be 1 or more"))
	}
	if p.Connections.PerAddress < 0 {
		errs = append(errs, errors.New("connections.per-address: must not be negative"))
	}
	if p.Push.Address != "" {
		if _, err := netip.ParseAddr(p.Push.Address); err != nil {
			errs = append(errs, errors.New("push.address: must be an IP address"))
		}
	}
	return errors.Join(errs...)
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
	return push.Options{RequesterOnly: p.Push.RequesterOnly}
}
