package state

import (
	"encoding/json"
	"maps"
	"math"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Tags of the commands about services and clusters.
const (
	tagCreateService = "service.create"
	tagPutService    = "service.put"
	tagDeleteService = "service.delete"
	tagPutCluster    = "cluster.put"
)

// CreateService creates a service. One of which the state knows anything is
// [ErrServiceExists]; whether one exists by ephemeral instances is for the caller
// to say.
type CreateService struct{ Service }

func (*CreateService) tag() string { return tagCreateService }

func (c *CreateService) check() error { return c.Service.check() }

func (c *CreateService) apply(v *View) (Result, Change, error) {
	if _, ok := v.Service(c.Key); ok || notEmpty(v.Instances(c.Key)) {
		return Result{}, Change{}, wire.Refusef(ErrServiceExists, "specified service already exists, serviceName : %s", c.Key.ServiceName)
	}
	return v.putService(c.Service)
}

// PutService sets everything about a service but its instances and clusters,
// whether it was there or not. With MustExist the state must know of it, by a
// call or by a persistent instance ([ErrServiceNotFound]).
type PutService struct {
	Service
	MustExist bool `json:"mustExist,omitempty"`
}

func (*PutService) tag() string { return tagPutService }

func (c *PutService) check() error { return c.Service.check() }

func (c *PutService) apply(v *View) (Result, Change, error) {
	if c.MustExist && !v.knows(c.Key) {
		return Result{}, Change{}, wire.Refusef(ErrServiceNotFound, "service %s not found!", c.Key.ServiceName)
	}
	return v.putService(c.Service)
}

// DeleteService removes a service with its clusters and its persistent instances
// (Nacos HTTP v1: delete service). One that the state does not know is
// [ErrServiceNotFound]. With IfEmpty one that has persistent instances or settings
// is left alone ([ErrServiceNotEmpty]).
type DeleteService struct {
	Service wire.ServiceKey `json:"service"`
	IfEmpty bool            `json:"ifEmpty,omitempty"`
}

func (*DeleteService) tag() string { return tagDeleteService }

func (c *DeleteService) check() error { return checkService(c.Service) }

func (c *DeleteService) apply(v *View) (Result, Change, error) {
	if !v.knows(c.Service) {
		return Result{}, Change{}, wire.Refusef(ErrServiceNotFound, "specified service not exist, serviceName : %s", c.Service.ServiceName)
	}
	result := Result{Changed: true}
	for i := range v.Instances(c.Service) {
		result.Instances = append(result.Instances, *i)
	}
	if c.IfEmpty && len(result.Instances) > 0 {
		return Result{}, Change{}, wire.Refusef(ErrServiceNotEmpty, "service %s has %d persistent instances", c.Service.ServiceName, len(result.Instances))
	}
	if c.IfEmpty && v.configured(c.Service) {
		return Result{}, Change{}, wire.Refusef(ErrServiceNotEmpty, "service %s has settings", c.Service.ServiceName)
	}
	key := serviceKey(c.Service)
	remove(&v.services, key)
	v.clusters, _ = v.clusters.DeletePrefix(key)
	v.instances, _ = v.instances.DeletePrefix(key)
	return result, Change{Kind: ChangeService, Service: c.Service}, nil
}

// PutCluster sets everything about a cluster of a service but its instances.
type PutCluster struct{ Cluster }

func (*PutCluster) tag() string { return tagPutCluster }

func (c *PutCluster) check() error {
	if err := checkService(c.Service); err != nil {
		return err
	}
	if name, err := wire.ParseCluster(c.Name); err != nil || name != c.Name {
		return wire.BadRequestf("cluster name can only have these characters: 0-9a-zA-Z-, current: %s", wire.Excerpt(c.Name))
	}
	if len(c.HealthChecker) == 0 {
		return wire.BadRequest("Param 'healthChecker' is required.")
	}
	if err := checkObject("healthChecker", c.HealthChecker); err != nil {
		return err
	}
	return wire.CheckPort(c.CheckPort)
}

func (c *PutCluster) apply(v *View) (Result, Change, error) {
	old, ok := v.Cluster(c.Service, c.Name)
	if ok && old.CheckPort == c.CheckPort && old.UseInstancePort == c.UseInstancePort &&
		sameJSON(old.HealthChecker, c.HealthChecker) && maps.Equal(old.Metadata, c.Metadata) {
		return Result{}, Change{}, nil
	}
	put(&v.clusters, clusterKey(c.Service, c.Name), &c.Cluster)
	return Result{Changed: true}, Change{Kind: ChangeCluster, Service: c.Service, Cluster: c.Name}, nil
}

func (s *Service) check() error {
	if err := checkService(s.Key); err != nil {
		return err
	}
	if math.IsNaN(s.ProtectThreshold) || math.IsInf(s.ProtectThreshold, 0) {
		return wire.BadRequest("protectThreshold is not a finite number")
	}
	return checkObject("selector", s.Selector)
}

// configured says whether somebody gave a service or one of its clusters values of
// their own.
func (v *View) configured(k wire.ServiceKey) bool {
	s, _ := v.Service(k)
	var selector struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(s.Selector, &selector) // was checked, or there is none
	return s.ProtectThreshold != 0 || len(s.Metadata) > 0 || selector.Type != "" && selector.Type != "none" ||
		notEmpty(v.Clusters(k))
}

// knows says whether the state has anything about a service.
func (v *View) knows(k wire.ServiceKey) bool {
	_, ok := v.Service(k)
	return ok || notEmpty(v.Instances(k)) || notEmpty(v.Clusters(k))
}

func (v *View) putService(s Service) (Result, Change, error) {
	old, ok := v.Service(s.Key)
	if ok && old.ProtectThreshold == s.ProtectThreshold && sameJSON(old.Selector, s.Selector) && maps.Equal(old.Metadata, s.Metadata) {
		return Result{}, Change{}, nil
	}
	put(&v.services, serviceKey(s.Key), &s)
	return Result{Changed: true}, Change{Kind: ChangeService, Service: s.Key}, nil
}

// Tags of the commands about namespaces.
const (
	tagCreateNamespace = "namespace.create"
	tagUpdateNamespace = "namespace.update"
	tagDeleteNamespace = "namespace.delete"
)

// CreateNamespace creates a namespace; one that is there, public included, is
// [ErrNamespaceExists].
type CreateNamespace struct{ Namespace }

func (*CreateNamespace) tag() string { return tagCreateNamespace }

func (c *CreateNamespace) check() error {
	if !wire.CanCreateNamespace(c.ID) {
		return wire.BadRequestf("the id of a namespace has 1 to %d letters, digits, '-' and '_': %s", wire.MaxNamespaceID, wire.Excerpt(c.ID))
	}
	return nil
}

func (c *CreateNamespace) apply(v *View) (Result, Change, error) {
	if _, ok := v.Namespace(c.ID); ok || c.ID == wire.PublicNamespace {
		return Result{}, Change{}, wire.Refusef(ErrNamespaceExists, "namespace %s exists already", wire.Excerpt(c.ID))
	}
	put(&v.namespaces, join(c.ID), &c.Namespace)
	return Result{Changed: true}, Change{Kind: ChangeNamespaces}, nil
}

// UpdateNamespace changes name and description of a namespace that was created
// ([ErrNamespaceNotFound]).
type UpdateNamespace struct{ Namespace }

func (*UpdateNamespace) tag() string { return tagUpdateNamespace }

func (c *UpdateNamespace) check() error { return checkKey("the id of a namespace", c.ID) }

func (c *UpdateNamespace) apply(v *View) (Result, Change, error) {
	old, ok := v.Namespace(c.ID)
	if !ok {
		return Result{}, Change{}, wire.Refusef(ErrNamespaceNotFound, "namespace %s not found", wire.Excerpt(c.ID))
	}
	if old == c.Namespace {
		return Result{}, Change{}, nil
	}
	put(&v.namespaces, join(c.ID), &c.Namespace)
	return Result{Changed: true}, Change{Kind: ChangeNamespaces}, nil
}

// DeleteNamespace deletes a namespace, not what is registered in it: namespaces
// are names for people. An unknown one is no error.
type DeleteNamespace struct {
	ID string `json:"id"`
}

func (*DeleteNamespace) tag() string { return tagDeleteNamespace }

func (c *DeleteNamespace) check() error { return checkKey("the id of a namespace", c.ID) }

func (c *DeleteNamespace) apply(v *View) (Result, Change, error) {
	return Result{Changed: remove(&v.namespaces, join(c.ID))}, Change{Kind: ChangeNamespaces}, nil
}

// Tags of the commands about the server itself.
const (
	tagSetSwitches = "switches.set"
	tagPutSecret   = "secret.put"
)

// SetSwitches replaces the switch object. Two callers that change different
// switches at the same time must not undo each other: if the switches have
// another revision than the caller saw, it is [ErrSwitchesChanged].
type SetSwitches struct {
	Object json.RawMessage `json:"object"`
	// Seen is the revision that the object was made from.
	Seen uint64 `json:"seen"`
}

func (*SetSwitches) tag() string { return tagSetSwitches }

func (c *SetSwitches) check() error {
	if len(c.Object) == 0 {
		return wire.BadRequest("switch object incorrect: it is empty")
	}
	return checkObject("switch object incorrect: it", c.Object)
}

func (c *SetSwitches) apply(v *View) (Result, Change, error) {
	if c.Seen != v.switches.Revision {
		return Result{}, Change{}, wire.Refusef(ErrSwitchesChanged, "the switches were changed by someone else meanwhile; try again")
	}
	v.switches = Switches{Object: c.Object, Revision: c.Seen + 1}
	return Result{Changed: true}, Change{Kind: ChangeSwitches}, nil
}

// PutSecret stores a secret. Unless Replace is set one that is there stays, and is
// [ErrSecretExists]: of several nodes that make one at the same time, one wins.
type PutSecret struct {
	Secret
	Replace bool `json:"replace,omitempty"`
}

func (*PutSecret) tag() string { return tagPutSecret }

func (c *PutSecret) check() error {
	if c.Name == "" || len(c.Value) == 0 {
		return wire.BadRequest("a secret needs a name and a value")
	}
	return checkKey("the name of a secret", c.Name)
}

func (c *PutSecret) apply(v *View) (Result, Change, error) {
	if _, ok := v.Secret(c.Name); ok && !c.Replace {
		return Result{}, Change{}, wire.Refusef(ErrSecretExists, "the secret %s exists already", wire.Excerpt(c.Name))
	}
	put(&v.secrets, join(c.Name), &c.Secret)
	return Result{Changed: true}, Change{Kind: ChangeSecrets}, nil
}
