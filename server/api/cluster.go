package api

import (
	"errors"
	"fmt"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/probe"
	"github.com/rollcall-go/rollcall/server/state"
)

// updateCluster sets how the persistent instances of a cluster are checked. The
// cluster need not exist.
func (a *API) updateCluster(c *call) (answer, error) {
	k, err := c.ServiceKey()
	if err != nil {
		return answer{}, err
	}
	for _, name := range []string{"clusterName", "checkPort", "useInstancePort4Check", "healthChecker"} {
		if _, err := c.Required(name); err != nil {
			return answer{}, err
		}
	}
	name, err := wire.ParseCluster(c.Get("clusterName"))
	if err != nil {
		return answer{}, err
	}
	info := naming.ClusterInfo{
		CheckPort: c.LenientCount("checkPort"), UseInstancePort: c.LooseBool(false, "useInstancePort4Check"),
	}
	if info.Checker, err = parseChecker(c.Get("healthChecker")); err != nil {
		return answer{}, err
	}
	if info.Metadata, err = wire.ParseMetadata(c.Get("metadata")); err != nil {
		return answer{}, err
	}
	if err := a.store.CheckCluster(k, name, info); err != nil {
		return answer{}, err
	}
	return a.change(c, &state.PutCluster{Cluster: state.Cluster{
		Service: k, Name: name, HealthChecker: []byte(info.Checker.Document()),
		CheckPort: info.CheckPort, UseInstancePort: info.UseInstancePort, Metadata: info.Metadata,
	}})
}

// parseChecker reads a health checker that probes can be made of, in the one
// spelling in which it is kept.
func parseChecker(text string) (naming.HealthChecker, error) {
	checker, err := probe.ParseChecker(text)
	if err != nil {
		return naming.HealthChecker{}, err
	}
	document, err := checker.MarshalJSON()
	if err != nil {
		return naming.HealthChecker{}, fmt.Errorf("write a health checker: %w", err)
	}
	return naming.ParseHealthChecker(string(document))
}

// checkerFor is a cluster's checker as the caller may see it: the password of a
// database is for those who could set it.
func (a *API) checkerFor(c *call, k wire.ServiceKey, h naming.HealthChecker) naming.HealthChecker {
	if !a.authOn || h.Type() != naming.CheckerMySQL ||
		a.auth.Authorize(c.user, auth.NamingResource(k.Namespace, k.Group, k.Name), auth.Write) == nil {
		return h
	}
	checker, err := probe.ParseChecker(h.Document())
	if err != nil {
		return naming.HealthChecker{}
	}
	document, err := checker.WithoutPassword().MarshalJSON()
	if err != nil {
		return naming.HealthChecker{}
	}
	shown, err := naming.ParseHealthChecker(string(document))
	if err != nil {
		return naming.HealthChecker{}
	}
	return shown
}

// setHealth is an operator's word on an instance that nothing checks. As no probe
// would say it again, that of a persistent one is stored.
func (a *API) setHealth(c *call) (answer, error) {
	k, ik, err := c.instanceKey("clusterName", "cluster")
	if err != nil {
		return answer{}, err
	}
	if c.Get("healthy", "valid") == "" {
		return answer{}, wire.BadRequest("Param 'healthy' is required.")
	}
	revision, found := a.store.Lookup(k)
	if !found || !knowsCluster(revision, ik.Cluster) {
		return answer{}, wire.BadRequestf("cluster %s of service %s is not found!", ik.Cluster, k.ServiceName)
	}
	healthy := c.LooseBool(true, "healthy", "valid")
	_, persistent := revision.Find(ik)
	if persistent != nil && persistent.Healthy != healthy && revision.ClusterInfo(ik.Cluster).Checker.Type() == naming.CheckerNone {
		_, err := a.propose(c, &state.PatchInstance{Service: k, InstanceKey: state.InstanceKey(ik), Healthy: &healthy})
		if err != nil && !errors.Is(err, state.ErrInstanceNotFound) {
			return answer{}, err
		}
	}
	return ok, a.store.SetHealth(k, ik, healthy)
}

// serverHealth is a sentence for people.
func (a *API) serverHealth(*call) (answer, error) {
	return jsonOf(struct {
		Msg string `json:"msg"`
	}{fmt.Sprintf("Rollcall serves %d services on port %d.", a.store.Stats().Services, a.node().Port)})
}
