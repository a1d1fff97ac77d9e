package api

import (
	"regexp"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// maxPattern bounds the regular expressions that requests bring; they are
// matched in time that grows with text and expression only.
const maxPattern = 256

// pattern reads a parameter that is a regular expression to be found anywhere;
// nil when it is blank.
func (c *call) pattern(name string) (*regexp.Regexp, error) {
	text := c.Get(name)
	if text == "" {
		return nil, nil
	}
	if len(text) > maxPattern {
		return nil, wire.BadRequestf("Param '%s' is longer than %d bytes", name, maxPattern)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, wire.BadRequestf("Param '%s' is no regular expression: %s", name, wire.Excerpt(text))
	}
	return re, nil
}

func found(re *regexp.Regexp, text string) bool { return re == nil || re.MatchString(text) }

// namespacesOf is the one namespace that a request names, or all of them. It is
// what [everywhere] asks the right for.
func (a *API) namespacesOf(c *call) ([]string, error) {
	if c.Get("namespaceId") == "" {
		return a.store.Namespaces(), nil
	}
	namespace, err := c.Namespace()
	return []string{namespace}, err
}

// serviceNames lists bare names by namespace. The count is of the namespaces
// (Nacos HTTP v1: others).
func (a *API) serviceNames(c *call) (answer, error) {
	if _, err := c.SpringBool("responsibleOnly"); err != nil { // one node is responsible for all
		return answer{}, err
	}
	expr, err := c.pattern("expr")
	if err != nil {
		return answer{}, err
	}
	namespaces, err := a.namespacesOf(c)
	if err != nil {
		return answer{}, err
	}
	services := make(map[string][]string, len(namespaces))
	for _, namespace := range namespaces {
		names := []string{}
		for _, r := range a.store.Services(namespace) {
			if found(expr, r.GroupedName()+":[]") { // as Nacos prints a service
				names = append(names, r.Key().Name)
			}
		}
		services[namespace] = names
	}
	return jsonOf(struct {
		Services map[string][]string `json:"services"`
		Count    int                 `json:"count"`
	}{services, len(services)})
}

// serviceChecksum shows the digest that lists carry.
func (a *API) serviceChecksum(c *call) (answer, error) {
	k, err := c.ServiceKey()
	if err != nil {
		return answer{}, err
	}
	revision, found := a.store.Lookup(k)
	if !found {
		return answer{}, notFoundf("serviceName not found: %s", k.ServiceName)
	}
	return jsonOf(struct {
		Checksum string `json:"checksum"`
	}{revision.Checksum()})
}
