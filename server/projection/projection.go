package projection

import (
	"fmt"
	"log/slog"
	"net/url"
	"sync"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/state"
)

// Projection applies the changes of a state to a naming core.
type Projection struct {
	store    *naming.Store
	switches *naming.Switches
	logger   *slog.Logger

	mu       sync.Mutex
	released map[wire.ServiceKey]struct{} // whose settings go, but not their instances
}

// New returns a projection onto a store and the switches it obeys. It has an
// effect once [Projection.Apply] is given to [state.State.OnApply]. A nil logger
// discards what cannot be applied, which is a fault of the program: the state
// holds nothing that was not checked.
func New(store *naming.Store, switches *naming.Switches, logger *slog.Logger) *Projection {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Projection{store: store, switches: switches, logger: logger, released: make(map[wire.ServiceKey]struct{})}
}

// Apply brings one change to the store and the switches. When it returns, they
// show it.
func (p *Projection) Apply(c state.Change) {
	var err error
	switch c.Kind {
	case state.ChangeAll:
		err = p.all(c.View)
	case state.ChangeInstances:
		err = p.instances(c)
	case state.ChangeService:
		err = p.service(c)
	case state.ChangeCluster:
		err = p.cluster(c)
	case state.ChangeSwitches:
		err = p.setSwitches(c.View)
	case state.ChangeNamespaces, state.ChangeAuth, state.ChangeSecrets: // are read from the view
	}
	if err != nil {
		p.logger.Error("a change of the persistent data could not be applied", "error", err)
	}
}

// Release says that a service's settings are about to be removed from the state
// because it is empty: what is registered into it meanwhile stays. The function
// it returns ends that.
func (p *Projection) Release(k wire.ServiceKey) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released[k] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.released, k)
	}
}

func (p *Projection) isReleased(k wire.ServiceKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, released := p.released[k]
	return released
}

func (p *Projection) instances(c state.Change) error {
	for _, key := range c.Instances {
		i, found := c.View.Instance(c.Service, key)
		if !found {
			if err := p.store.RemovePersistent(c.Service, naming.InstanceKey(key)); err != nil {
				return err
			}
			continue
		}
		if _, err := p.store.ApplyPersistent(c.Service, persistentOf(&i)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Projection) service(c state.Change) error {
	s, found := c.View.Service(c.Service)
	if !found {
		if p.isReleased(c.Service) {
			return p.store.ReleaseService(c.Service)
		}
		return p.store.RemoveService(c.Service)
	}
	info, err := infoOf(&s)
	if err != nil {
		return err
	}
	return p.store.ApplyService(c.Service, info)
}

func (p *Projection) cluster(c state.Change) error {
	cluster, found := c.View.Cluster(c.Service, c.Cluster)
	if !found {
		return fmt.Errorf("cluster %s of %s is not there", c.Cluster, c.Service)
	}
	info, err := clusterOf(&cluster)
	if err != nil {
		return err
	}
	return p.store.ApplyCluster(c.Service, c.Cluster, info)
}

func (p *Projection) setSwitches(v *state.View) error {
	object := v.Switches().Object
	if len(object) == 0 {
		object = []byte("{}") // never set: the defaults
	}
	return p.switches.Restore(object)
}

// all brings everything, after a start or a restored backup.
func (p *Projection) all(v *state.View) error {
	err := p.setSwitches(v)
	restored := p.store.RestoreDurable(func(yield func(wire.ServiceKey, naming.Durable) bool) {
		for k := range v.ServiceKeys() {
			durable, failed := durableOf(v, k)
			if failed != nil {
				p.logger.Error("a service's settings cannot be read", "service", k.String(), "error", failed)
			}
			if !yield(k, durable) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return restored
}

// durableOf is all that the state has of one service.
func durableOf(v *state.View, k wire.ServiceKey) (naming.Durable, error) {
	var d naming.Durable
	var failed error
	if s, found := v.Service(k); found {
		info, err := infoOf(&s)
		if err != nil {
			failed = err
		}
		d.Info = &info
	}
	for c := range v.Clusters(k) {
		info, err := clusterOf(c)
		if err != nil {
			failed = err
			continue
		}
		if d.Clusters == nil {
			d.Clusters = make(map[string]naming.ClusterInfo)
		}
		d.Clusters[c.Name] = info
	}
	for i := range v.Instances(k) {
		d.Instances = append(d.Instances, persistentOf(i))
	}
	return d, failed
}

func persistentOf(i *state.Instance) naming.Persistent {
	return naming.Persistent{
		Registration: naming.Registration{
			InstanceKey: naming.InstanceKey(i.InstanceKey), Weight: i.Weight, Enabled: i.Enabled,
			Healthy: i.Healthy, Metadata: i.Metadata, App: i.App,
		},
		ID: i.ID,
	}
}

func infoOf(s *state.Service) (naming.ServiceInfo, error) {
	info := naming.ServiceInfo{Metadata: s.Metadata, ProtectThreshold: s.ProtectThreshold, Explicit: true}
	// The parser undoes one more encoding, which clients apply and the state does not.
	selector, err := naming.ParseSelector(url.QueryEscape(string(s.Selector)))
	if err != nil {
		return info, fmt.Errorf("selector of %s: %w", s.Key, err)
	}
	info.Selector = selector
	return info, nil
}

func clusterOf(c *state.Cluster) (naming.ClusterInfo, error) {
	checker, err := naming.ParseHealthChecker(string(c.HealthChecker))
	if err != nil {
		return naming.ClusterInfo{}, fmt.Errorf("health checker of %s in %s: %w", c.Name, c.Service, err)
	}
	return naming.ClusterInfo{
		Checker: checker, CheckPort: c.CheckPort, UseInstancePort: c.UseInstancePort, Metadata: c.Metadata,
	}, nil
}
