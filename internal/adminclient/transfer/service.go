package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/internal/wire"
)

// services takes the services of a namespace over.
func (r *run) services(ctx context.Context, namespace string) error {
	lines, err := r.From.Services(ctx, namespace)
	if err != nil {
		return fmt.Errorf("list the services of %s: %w", namespace, err)
	}
	for i, l := range lines {
		k := wire.ServiceKey{Namespace: namespace, ServiceName: wire.ServiceName{Group: l.Group, Name: l.Name}}
		if err := r.service(ctx, k); err != nil {
			return err
		}
		r.Progress(Progress{namespace, i + 1, len(lines)})
	}
	return nil
}

// service takes one service over: what is set about it and its clusters, and its
// persistent instances.
func (r *run) service(ctx context.Context, k wire.ServiceKey) error {
	found, err := r.From.Service(ctx, k)
	if errors.Is(err, adminclient.ErrNotFound) {
		return nil // has gone meanwhile
	}
	if err != nil {
		return r.failed(&r.report.Services, "service "+k.String(), err)
	}
	instances, ephemeral, err := r.instancesOf(ctx, k, found)
	if err != nil {
		return r.failed(&r.report.Services, "service "+k.String(), err)
	}
	r.report.Instances.LeftOut += ephemeral
	if ephemeral > 0 && len(instances) == 0 && !hasSettings(found) {
		r.report.Services.LeftOut++ // clients made it, and make it again
		return nil
	}
	there, err := r.To.Service(ctx, k)
	exists := err == nil
	if err != nil && !errors.Is(err, adminclient.ErrNotFound) {
		return r.failed(&r.report.Services, "service "+k.String(), err)
	}
	failures := r.report.Services.Failed
	if err := r.settings(ctx, k, found, there, exists); err != nil || r.report.Services.Failed > failures {
		return err
	}
	if len(instances) == 0 && ephemeral == 0 && !hasSettings(found) {
		r.report.WithoutInstances++
	}
	for _, c := range found.Clusters {
		if err := r.cluster(ctx, k, c, there); err != nil {
			return err
		}
	}
	return r.instances(ctx, k, instances, there)
}

// instancesOf returns the persistent instances of a service and counts the
// others.
func (r *run) instancesOf(ctx context.Context, k wire.ServiceKey, s adminclient.Service) (_ []adminclient.Instance, ephemeral int, _ error) {
	var persistent []adminclient.Instance
	for _, c := range s.Clusters {
		all, err := r.From.Instances(ctx, k, c.Name)
		if err != nil && !errors.Is(err, adminclient.ErrNotFound) {
			return nil, 0, err
		}
		for _, i := range all {
			if i.Ephemeral {
				ephemeral++
				continue
			}
			persistent = append(persistent, i)
		}
	}
	return persistent, ephemeral, nil
}

// hasSettings says whether somebody set anything about a service or a cluster.
func hasSettings(s adminclient.Service) bool {
	return s.ProtectThreshold != 0 || len(s.Metadata) > 0 || !isNone(s.Selector) ||
		slices.ContainsFunc(s.Clusters, func(c adminclient.Cluster) bool { return !isDefault(c) })
}

// typeOf is the member type of a selector or a health checker.
func typeOf(document json.RawMessage) string {
	var typed struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(document, &typed) != nil {
		return ""
	}
	return typed.Type
}

func isNone(selector json.RawMessage) bool {
	return len(selector) == 0 || bytes.Equal(selector, []byte("null")) || typeOf(selector) == "none"
}

// isDefault says whether a cluster is as its first instance makes it.
func isDefault(c adminclient.Cluster) bool {
	return typeOf(c.HealthChecker) == "TCP" && c.CheckPort == 80 && c.UseInstancePort && len(c.Metadata) == 0
}

// settings takes over what is set about a service.
func (r *run) settings(ctx context.Context, k wire.ServiceKey, found, there adminclient.Service, exists bool) error {
	tally := &r.report.Services
	if isNone(found.Selector) {
		found.Selector = nil
	}
	switch {
	case !exists:
		return r.write(tally, &tally.Created, "service "+k.String(), func() error { return r.To.PutService(ctx, k, found, false) })
	case found.ProtectThreshold == there.ProtectThreshold && maps.Equal(found.Metadata, there.Metadata) &&
		(isNone(found.Selector) && isNone(there.Selector) || sameDocument(found.Selector, there.Selector)):
		tally.Same++
		return nil
	}
	return r.write(tally, &tally.Changed, "service "+k.String(), func() error { return r.To.PutService(ctx, k, found, true) })
}

// cluster takes over how a cluster is checked.
func (r *run) cluster(ctx context.Context, k wire.ServiceKey, c adminclient.Cluster, there adminclient.Service) error {
	tally := &r.report.Clusters
	at := slices.IndexFunc(there.Clusters, func(x adminclient.Cluster) bool { return x.Name == c.Name })
	what := fmt.Sprintf("cluster %s of %s", c.Name, k)
	counter := &tally.Created
	switch {
	case at < 0 && isDefault(c):
		return nil // comes with the first instance
	case at >= 0:
		x := there.Clusters[at]
		if c.CheckPort == x.CheckPort && c.UseInstancePort == x.UseInstancePort && maps.Equal(c.Metadata, x.Metadata) &&
			sameChecker(c.HealthChecker, x.HealthChecker) {
			tally.Same++
			return nil
		}
		counter = &tally.Changed
	}
	if lacksPassword(c.HealthChecker) {
		return r.failed(tally, what, errNoPassword)
	}
	return r.write(tally, counter, what, func() error { return r.To.PutCluster(ctx, k, c) })
}

// errNoPassword keeps a check from being made that would fail and take what it
// checks out of service.
var errNoPassword = errors.New("the source does not tell the password of its MySQL check: " +
	"read it as a user who may write there, or set the check by hand")

// passwordMember is the member of a MySQL check that registries tell only those
// who may write.
const passwordMember = "pwd"

// lacksPassword reports whether a checker is a MySQL check without a password.
func lacksPassword(document json.RawMessage) bool {
	var m map[string]any
	return typeOf(document) == "MYSQL" && json.Unmarshal(document, &m) == nil && isEmpty(m[passwordMember])
}

// sameChecker is sameDocument, but for the password that the source does not tell:
// then the target's is as good as any.
func sameChecker(source, target json.RawMessage) bool {
	var x map[string]any
	if lacksPassword(source) && typeOf(target) == "MYSQL" && json.Unmarshal(target, &x) == nil {
		delete(x, passwordMember)
		if without, err := json.Marshal(x); err == nil {
			target = without
		}
	}
	return sameDocument(source, target)
}

// instances takes over the persistent instances.
func (r *run) instances(ctx context.Context, k wire.ServiceKey, found []adminclient.Instance, there adminclient.Service) error {
	tally := &r.report.Instances
	known := make(map[string][]adminclient.Instance)
	for _, c := range there.Clusters {
		all, err := r.To.Instances(ctx, k, c.Name)
		if err != nil && !errors.Is(err, adminclient.ErrNotFound) {
			return r.failed(tally, "instances of "+k.String(), err)
		}
		known[c.Name] = all
	}
	for _, i := range found {
		at := slices.IndexFunc(known[i.Cluster], func(x adminclient.Instance) bool {
			return x.IP == i.IP && x.Port == i.Port && x.Ephemeral == i.Ephemeral // one of the other kind may be beside it
		})
		counter := &tally.Created
		if at >= 0 {
			if sameInstance(i, known[i.Cluster][at]) {
				tally.Same++
				continue
			}
			counter = &tally.Changed
		}
		err := r.write(tally, counter, fmt.Sprintf("instance %s:%d of %s", i.IP, i.Port, k),
			func() error { return r.To.PutInstance(ctx, k, i) })
		if err != nil {
			return err
		}
	}
	return nil
}

// sameInstance compares what an operator chose: the health is found out by each
// registry itself. A source that tells no application leaves the target's.
func sameInstance(source, target adminclient.Instance) bool {
	return source.Weight == target.Weight && source.Enabled == target.Enabled &&
		maps.Equal(source.Metadata, target.Metadata) && (source.App == "" || source.App == target.App)
}

// sameDocument compares JSON by what it means; what only one says with an empty
// value means nothing.
func sameDocument(a, b json.RawMessage) bool {
	var x, y map[string]any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return bytes.Equal(a, b)
	}
	for _, m := range []map[string]any{x, y} {
		maps.DeleteFunc(m, func(_ string, v any) bool { return isEmpty(v) })
	}
	return reflect.DeepEqual(x, y)
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}
