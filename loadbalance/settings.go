package loadbalance

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/registry"
)

// config is what all services share of one configuration. It is replaced as a
// whole.
type config struct {
	lifecycles []Lifecycle
	balanced   map[string]bool // hosts; nil when all are that name a service
	place      place
	// connections are for calls that go to no service.
	connections BaseTransportOptions
	properties  Properties
}

// place is where the caller is.
type place struct{ cluster, zone string }

func placeOf(cluster, zone string) place { return place{cluster, cmp.Or(zone, cluster)} }

// settings is a configuration as it counts for one service.
type settings struct {
	config *config
	// foreign says that the policy's results do not carry endpoints.
	foreign bool
	// tracked says that somebody needs to know which calls are under way.
	tracked bool
	// learns says that the policy goes by latencies.
	learns       bool
	activeLimit  int64 // 0: none
	outlier      *OutlierProperties
	health       *healthSettings
	sameInstance bool
	avoidTried   bool
	// looks says that somebody may look at a call's header.
	looks bool
	call  callSettings

	// What follows is for working out a view.
	ipType     string
	properties Properties
	chain      []string
	stages     []Stage // without the first, usable
	policy     Policy
}

// compile works out a configuration for a service.
func (l *LoadBalancer) compile(c *config, id registry.ServiceID) (*settings, error) {
	p, err := c.properties.For(id)
	if err != nil {
		return nil, err
	}
	names, err := chainNames(p, l.custom...)
	if err != nil {
		return nil, fmt.Errorf("chain: %w", err)
	}
	set := &settings{config: c, properties: p, chain: names, call: newCallSettings(p)}
	if set.policy, err = l.policyOf(p); err != nil {
		return nil, err
	}
	set.ipType = l.ipTypeOf(&p)
	if set.ipType != "" && !slices.Contains(names, StageIPType) {
		// Before everything else that chooses: what cannot be reached is no choice.
		names = slices.Insert(names, 1, StageIPType)
		set.chain = names
	}
	_, own := set.policy.(CandidatePolicy)
	set.foreign = !own
	for _, name := range names[1:] {
		if name == StageRetryAware {
			set.avoidTried = true
			continue
		}
		set.stages = append(set.stages, l.stage(name, set, id))
	}
	set.sameInstance = slices.Contains(names, StageSameInstance)
	set.looks = !slices.Contains(policyNames, set.policy.Name()) || set.policy.Name() == PolicyConsistentHash ||
		slices.ContainsFunc(set.stages, func(s Stage) bool { return s.split != nil && !s.split.lax })
	// Somebody else's policy may look at both.
	theirs := own && !slices.Contains(policyNames, set.policy.Name())
	set.learns = theirs || set.policy.Name() == PolicyP2C
	set.tracked = set.learns || set.policy.Name() == PolicyLeastActive || set.outlier != nil || p.Stats.Enabled
	return set, nil
}

func (l *LoadBalancer) policyOf(p Properties) (Policy, error) {
	if l.policy != nil {
		return l.policy, nil
	}
	name := p.Algorithm
	if name == "" && !p.Nacos.Enabled {
		name = PolicyRoundRobin
	}
	if name != PolicyConsistentHash {
		return PolicyByName(name, l.rand)
	}
	key, err := ParseHashKey(p.HashKey)
	if err != nil {
		return nil, err
	}
	return ConsistentHash(key, l.rand), nil
}

// stage makes the stage that a chain names.
func (l *LoadBalancer) stage(name string, set *settings, id registry.ServiceID) Stage {
	p := &set.properties
	switch name {
	case StageIPType:
		return ipStage(set.ipType)
	case StageHealthCheck:
		set.health = newHealthSettings(p.HealthCheck, id)
		return healthStage(set.health, l.failedOpen)
	case StageOutlier:
		set.outlier = &p.Outlier
		set.activeLimit = int64(max(p.Outlier.ActiveLimit, 0))
		return outlierStage(&p.Outlier)
	case StageAPIVersion:
		return versionStage(p.APIVersion)
	case StageHint:
		return hintStage(p.HintHeaderName, forService(p.Hint, id, ""))
	case StageSticky:
		return stickyStage(p.StickySession.InstanceIDCookieName)
	case StageSameInstance:
		return sameInstanceStage()
	case StageSubset:
		own := p.Subset.InstanceID
		if own == "" {
			own = l.instanceID
		}
		return subsetStage(own, p.Subset.Size)
	case StageSameCluster:
		return clusterStage(set.config.place.cluster)
	case StageZone:
		zone := p.Zone
		if zone == "" {
			zone = set.config.place.zone
		}
		return zoneStage(zone, p.MinAvailable)
	case StageWeighted:
		return weightedStage()
	}
	return l.custom[slices.IndexFunc(l.custom, func(s Stage) bool { return s.name == name })]
}

// forService returns the value for a service of a table by id, in any case, with
// "default" for all others.
func forService(table map[string]string, id registry.ServiceID, otherwise string) string {
	for _, name := range []string{id.Grouped(), id.Name, "default"} {
		if key, ok := keyInAnyCase(table, name); ok {
			return table[key]
		}
	}
	return otherwise
}

// newConfig checks properties and works out what services share.
func (l *LoadBalancer) newConfig(p Properties, at place) (*config, error) {
	p = p.Clone()
	if err := keyed(PropertiesPrefix, p.ValidateWith(l.custom...)); err != nil {
		return nil, err
	}
	c := &config{properties: p, place: at, lifecycles: l.lifecycles, connections: newCallSettings(p).http}
	if p.Stats.Enabled {
		if err := l.stats.enable(); err != nil {
			return nil, fmt.Errorf("register load balancer metrics: %w", err)
		}
		c.lifecycles = append(slices.Clone(l.lifecycles), l.stats)
	}
	if len(p.HTTP.BalancedHosts) > 0 {
		c.balanced = make(map[string]bool, len(p.HTTP.BalancedHosts))
		for _, host := range p.HTTP.BalancedHosts {
			c.balanced[strings.ToLower(host)] = true
		}
	}
	return c, nil
}

// Reconfigure puts another configuration into effect for everything chosen from
// now on: chains, policies, retries. Calls under way end by the old one. What is
// known of the instances, ejections and results of probes stays. The error names
// everything that is wrong, with its full key, and then nothing has changed;
// [ErrClosed] after Close.
func (l *LoadBalancer) Reconfigure(p Properties) error {
	l.reconfiguring.Lock()
	defer l.reconfiguring.Unlock()
	if l.closed.Load() {
		return ErrClosed
	}
	before := l.config.Load()
	next, err := l.newConfig(p, before.place)
	if err != nil {
		return err
	}
	l.configured.Store(true)
	l.config.Store(next)
	if before.properties.Stats.Enabled && !p.Stats.Enabled {
		l.stats.disable()
	}
	for s := range l.services.all() {
		s.reconfigure()
	}
	if added := without(p.EagerLoad.Clients, before.properties.EagerLoad.Clients); len(added) > 0 {
		l.run(func() { l.load(l.life, added) })
	}
	l.log.Info("load balancer reconfigured", slog.Int("overrides", len(p.Clients)))
	return nil
}

// Relocate says that the caller has moved, as Options.Cluster and Options.Zone do
// at the start: what is chosen from now on prefers the new place, and calls under
// way end where they are. What is known of the instances stays. A closed balancer
// takes no notice.
func (l *LoadBalancer) Relocate(cluster, zone string) {
	l.reconfiguring.Lock()
	defer l.reconfiguring.Unlock()
	before, at := l.config.Load(), placeOf(cluster, zone)
	if l.closed.Load() || before.place == at {
		return
	}
	next := *before
	next.place = at
	l.config.Store(&next)
	for s := range l.services.all() {
		s.reconfigure()
	}
	l.log.Info("load balancer relocated", slog.String("cluster", at.cluster), slog.String("zone", at.zone))
}

// Properties returns the configuration in effect.
func (l *LoadBalancer) Properties() Properties { return l.config.Load().properties.Clone() }

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}
