package gateway

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/rollcall-go/rollcall/registry"
)

// Properties is the configuration of a [Gateway], for a block of an application's
// YAML:
//
//	autoconfig.Properties("gateway", gateway.DefaultProperties())
//
// The zero value lets nothing through.
type Properties struct {
	// Prefix is the path below which the services are, such as "/api"; "" is the
	// root.
	Prefix string `mapstructure:"prefix"`
	// Services are those that can be reached, by their name or "GROUP@@name",
	// exactly as it stands in the path.
	Services []string `mapstructure:"services"`
	// AllServices lets every service through that has an instance, in any group of
	// the balancer's namespace, whatever Services says. What is registered is
	// public then.
	AllServices bool `mapstructure:"all-services"`
	// KeepPrefix sends the whole path on, instead of what follows the service's
	// name.
	KeepPrefix bool `mapstructure:"keep-prefix"`
	// Use404 answers 404 instead of 503 where a service has no instance, as Spring
	// Cloud Gateway's loadbalancer.use404 does.
	Use404 bool `mapstructure:"use404"`
	// TrustForwarded keeps the Forwarded and X-Forwarded headers of requests, and
	// X-Real-Ip, X-Client-Ip and True-Client-Ip, and adds to them, for a gateway
	// that only trusted proxies can reach; otherwise all of them are deleted and
	// begin here.
	TrustForwarded bool `mapstructure:"trust-forwarded"`
}

// DefaultProperties returns the defaults: nothing is let through.
func DefaultProperties() Properties { return Properties{} }

// Validate reports every value that cannot work.
func (p *Properties) Validate() error {
	var errs []error
	if p.Prefix != "" && (!strings.HasPrefix(p.Prefix, "/") || strings.HasSuffix(p.Prefix, "/")) {
		errs = append(errs, errors.New(`prefix: must begin with "/" and not end with it`))
	}
	for _, name := range p.Services {
		if !isServiceName(name) {
			errs = append(errs, fmt.Errorf("services: %q cannot be the name of a service in a path", name))
		}
	}
	return errors.Join(errs...)
}

// isServiceName reports whether a text can be a name, or group and name: what the
// registry allows in both.
func isServiceName(text string) bool {
	group, name, grouped := strings.Cut(text, groupSeparator)
	if !grouped {
		group, name = registry.DefaultGroup, text
	}
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
		return false // is a machine
	}
	return isWord(group) && isWord(name)
}

const (
	// groupSeparator stands between group and name, as Nacos writes them.
	groupSeparator = "@@"
	// maxName is how long the registry lets a name be, group included.
	maxName = 512
)

// isWord keeps to what is neither a path nor a port: a host of this kind in an
// lb: URL is a name, or refused.
func isWord(text string) bool {
	if text == "" || len(text) > maxName || strings.Trim(text, ".") == "" {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	}) < 0
}
