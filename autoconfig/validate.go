package autoconfig

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/wire"
)

// validate adds the mistakes that only show when blocks are seen together, or
// when a part looks at its options.
func (s *settings) validate(c *config.Config, ownBackend bool) {
	if s.nacosBackend(ownBackend).holds {
		servers, key := s.nacos.servers()
		d := &s.nacos.Discovery
		report(c, key, nacosclient.Options{Servers: servers, Endpoint: d.Endpoint, EndpointPort: d.EndpointPort}.Validate())
		report(c, "cloud.nacos.discovery.context-path", nacosclient.CheckContextPath(d.ContextPath))
		s.validateLogin(c)
		effective := s.nacos.tls()
		if !effective.Enabled && effective.given() && (isHTTPS(d.Endpoint) || slices.ContainsFunc(servers, isHTTPS)) {
			c.Problem("cloud.nacos.discovery.tls.enabled", "must be true for the other keys of tls to count, where some addresses are https and others name no scheme")
		}
		if _, err := effective.config(); err != nil {
			key, reason, _ := strings.Cut(err.Error(), ": ")
			c.Problem("cloud.nacos.discovery.tls."+key, reason)
		}
	}
	if s.discoveryClient().holds {
		if n := s.nacos.Discovery.Namespace; strings.TrimSpace(n) != n {
			c.Problem("cloud.nacos.discovery.namespace", "must not have blanks around it")
		}
		_, err := s.disk()
		report(c, "cloud.nacos.discovery.naming-cache-dir", err)
	}
	s.validateClients(c)
	if !s.registration().holds {
		return
	}
	if (s.nacosBackend(ownBackend).holds || ownBackend) && s.serviceID().Name == "" {
		c.Problem("application.name", "must be set to register, or cloud.nacos.discovery.service; cloud.nacos.discovery.register-enabled: false only looks services up")
	}
	s.validateNames(c)
	reportKeyed(c, s.autoOptions().Validate())
	reportKeyed(c, s.address().Validate())
}

// validateLogin finds a password that nobody has.
func (s *settings) validateLogin(c *config.Config) {
	if username, _ := s.nacos.login(); username != "" {
		return
	}
	if s.nacos.Password != "" {
		c.Problem("cloud.nacos.password", "needs cloud.nacos.username")
	}
	if s.nacos.Discovery.Password != "" {
		c.Problem("cloud.nacos.discovery.password", "needs cloud.nacos.discovery.username or cloud.nacos.username")
	}
}

// validateNames checks what a registry would refuse: the protocol allows few
// characters in names.
func (s *settings) validateNames(c *config.Config) {
	d := &s.nacos.Discovery
	name, key := d.Service, "cloud.nacos.discovery.service"
	if name == "" {
		name, key = s.application.Name, "application.name"
	}
	if name != "" {
		if parsed, err := wire.ParseServiceName(name, ""); err != nil || parsed.Name != name {
			c.Problem(key, "must be a service name: letters, digits and . _ : - (and @, but not doubled and not first)")
		}
	}
	if parsed, err := wire.ParseServiceName("x", d.Group); d.Group != "" && (err != nil || parsed.Group != d.Group) {
		c.Problem("cloud.nacos.discovery.group", "must be a group name: letters, digits and . _ : - (and @, but not doubled and not last)")
	}
	if parsed, err := wire.ParseCluster(d.ClusterName); d.ClusterName != "" && (err != nil || parsed != d.ClusterName) {
		c.Problem("cloud.nacos.discovery.cluster-name", "must be a cluster name: letters, digits and -")
	}
}

// validateClients finds services that are configured twice: their names are the
// same in any case.
func (s *settings) validateClients(c *config.Config) {
	seen := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(s.loadbalancer.Clients)) {
		folded := strings.ToLower(id)
		if first, twice := seen[folded]; twice {
			c.Problem("cloud.loadbalancer.clients."+id, "is the same service as "+first)
		}
		seen[folded] = id
	}
}

// report adds each line of an error as a problem with the key.
func report(c *config.Config, key string, err error) {
	for line := range lines(err) {
		c.Problem(key, line)
	}
}

// reportKeyed adds the lines of an error that name a key and a value before the
// colon, as those of the parts do.
func reportKeyed(c *config.Config, err error) {
	for line := range lines(err) {
		key, _, _ := strings.Cut(line, " ")
		reason := line[strings.LastIndex(line, ": ")+1:]
		c.Problem(key, strings.TrimSpace(reason))
	}
}

func lines(err error) iter.Seq[string] {
	if err == nil {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(err.Error(), "\n")
}

// problemsOf puts a key before each line of an error.
func problemsOf(key string, err error) error {
	var errs []error
	for line := range lines(err) {
		errs = append(errs, fmt.Errorf("%s: %s", key, line))
	}
	return errors.Join(errs...)
}
