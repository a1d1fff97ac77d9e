package static

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/registry"
)

// ParseInstance reads an instance from the forms that people write:
//
//	host:port, [v6]:port
//	http://host[:port], https://host[:port]
//
// The port of a URL defaults to 80 or 443, and https makes the instance secure.
// Everything else is as [registry.NewInstance] has it. A URL with a path, a
// query or credentials is an error, since an instance has none.
func ParseInstance(text string) (registry.Instance, error) {
	host, port, secure, err := split(text)
	if err != nil {
		return registry.Instance{}, fmt.Errorf("instance %q: %w", text, err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return registry.Instance{}, fmt.Errorf("instance %q: port %q is not a number", text, port)
	}
	i := registry.NewInstance(registry.ServiceID{}, host, number)
	if err := check(i); err != nil {
		return registry.Instance{}, fmt.Errorf("instance %q: %w", text, err)
	}
	if secure {
		i.Metadata = map[string]string{registry.MetadataSecure: "true"}
	}
	return i, nil
}

func split(text string) (host, port string, secure bool, err error) {
	if !strings.Contains(text, "://") {
		host, port, err = net.SplitHostPort(text)
		return host, port, false, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", "", false, err
	}
	switch u.Scheme {
	case "http":
		port = "80"
	case "https":
		port, secure = "443", true
	default:
		return "", "", false, fmt.Errorf("scheme %q is neither http nor https", u.Scheme)
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", "", false, errors.New("only scheme, host and port make an instance")
	}
	if p := u.Port(); p != "" {
		port = p
	}
	return u.Hostname(), port, secure, nil
}
