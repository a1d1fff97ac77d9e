package autoconfig

import (
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/loadbalance"
)

// LoadBalancerProperties is the block cloud.loadbalancer.
type LoadBalancerProperties struct {
	// Enabled provides the balancer and the client that calls by name, on.
	Enabled bool `mapstructure:"enabled"`
	// Nacos makes weighted-random the default algorithm and lets calls prefer the
	// own cluster, on; without it, round-robin over all clusters.
	Nacos Switch `mapstructure:"nacos"`
	// Algorithm is weighted-random, round-robin or random; "" is what Nacos says.
	Algorithm string `mapstructure:"algorithm"`
	// PreferSameCluster calls instances of cloud.nacos.discovery.cluster-name while
	// it has any, on.
	PreferSameCluster bool `mapstructure:"prefer-same-cluster"`
	// UseUnhealthyWhenEmpty calls unhealthy instances when there are no others,
	// off.
	UseUnhealthyWhenEmpty bool `mapstructure:"use-unhealthy-when-empty"`
	// Retry is about calls that failed.
	Retry RetryProperties `mapstructure:"retry"`
	// PreserveHost sends the service's name as Host header, off: the instance's
	// address.
	PreserveHost bool `mapstructure:"preserve-host"`
	// HTTP is about the connections to instances.
	HTTP BalancedHTTPProperties `mapstructure:"http"`
}

// RetryProperties is the block cloud.loadbalancer.retry.
type RetryProperties struct {
	// Enabled tries again, on.
	Enabled bool `mapstructure:"enabled"`
	// MaxNext is how many further instances a call goes to, 1.
	MaxNext int `mapstructure:"max-retries-on-next-service-instance"`
	// OnConnectError tries again whatever the method when no connection could be
	// made, on: nothing was sent.
	OnConnectError bool `mapstructure:"retry-on-connect-error"`
}

// BalancedHTTPProperties is the block cloud.loadbalancer.http.
type BalancedHTTPProperties struct {
	// ConnectTimeout bounds making a connection, 2s.
	ConnectTimeout time.Duration `mapstructure:"connect-timeout"`
	// ResponseTimeout bounds the wait for a response's header, 0s: no bound.
	ResponseTimeout time.Duration `mapstructure:"response-timeout"`
	// MaxIdleConnsPerHost are kept for reuse per instance, 50.
	MaxIdleConnsPerHost int `mapstructure:"max-idle-conns-per-host"`
	// MaxConnsPerHost bounds all connections per instance, 0: no bound.
	MaxConnsPerHost int `mapstructure:"max-conns-per-host"`
}

// DefaultLoadBalancerProperties returns the defaults of the block
// cloud.loadbalancer.
func DefaultLoadBalancerProperties() LoadBalancerProperties {
	return LoadBalancerProperties{
		Enabled:           true,
		Nacos:             Switch{true},
		PreferSameCluster: true,
		Retry:             RetryProperties{Enabled: true, MaxNext: loadbalance.DefaultMaxNextInstances, OnConnectError: true},
		HTTP: BalancedHTTPProperties{
			ConnectTimeout:      loadbalance.DefaultConnectTimeout,
			MaxIdleConnsPerHost: loadbalance.DefaultMaxIdleConnsPerHost,
		},
	}
}

// Validate reports every value that cannot work.
func (p *LoadBalancerProperties) Validate() error {
	var errs []error
	if _, err := loadbalance.PolicyByName(p.Algorithm, nil); err != nil {
		errs = append(errs, fmt.Errorf("algorithm: %w", err))
	}
	if p.Retry.MaxNext < 0 {
		errs = append(errs, errors.New("retry.max-retries-on-next-service-instance: must not be negative"))
	}
	if p.HTTP.MaxIdleConnsPerHost < 1 {
		errs = append(errs, errors.New("http.max-idle-conns-per-host: must be 1 or more"))
	}
	if p.HTTP.MaxConnsPerHost < 0 {
		errs = append(errs, errors.New("http.max-conns-per-host: must not be negative"))
	}
	errs = append(errs, positive("http.connect-timeout", p.HTTP.ConnectTimeout),
		notNegative("http.response-timeout", p.HTTP.ResponseTimeout))
	return errors.Join(errs...)
}

// options are the balancer's, for an application in the given cluster.
func (p *LoadBalancerProperties) options(cluster string) (loadbalance.Options, error) {
	algorithm := p.Algorithm
	if algorithm == "" {
		algorithm = loadbalance.PolicyRoundRobin
		if p.Nacos.Enabled {
			algorithm = loadbalance.PolicyWeightedRandom
		}
	}
	policy, err := loadbalance.PolicyByName(algorithm, nil)
	return loadbalance.Options{
		Policy:                policy,
		Cluster:               cluster,
		PreferSameCluster:     p.PreferSameCluster && p.Nacos.Enabled,
		UseUnhealthyWhenEmpty: p.UseUnhealthyWhenEmpty,
	}, err
}

func (p *LoadBalancerProperties) transport() loadbalance.TransportOptions {
	return loadbalance.TransportOptions{
		PreserveHost:        p.PreserveHost,
		DisableRetry:        !p.Retry.Enabled || p.Retry.MaxNext == 0,
		DisableConnectRetry: !p.Retry.OnConnectError,
		MaxNextInstances:    p.Retry.MaxNext,
	}
}

func (p *LoadBalancerProperties) base() loadbalance.BaseTransportOptions {
	return loadbalance.BaseTransportOptions{
		ConnectTimeout:      p.HTTP.ConnectTimeout,
		ResponseTimeout:     p.HTTP.ResponseTimeout,
		MaxIdleConnsPerHost: p.HTTP.MaxIdleConnsPerHost,
		MaxConnsPerHost:     p.HTTP.MaxConnsPerHost,
	}
}
