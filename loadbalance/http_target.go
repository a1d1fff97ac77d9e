package loadbalance

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/rollcall-go/rollcall/registry"
)

const (
	schemeLB    = "lb"
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// target reads whom a URL calls. It returns false for one that names a machine
// and not a service: an IP literal, localhost, or any host with a port, since an
// instance's port comes from its registration. Every other host is a service
// id, dots and underscores included, unless http.balanced-hosts lists those that
// are. With the scheme lb it must be one.
//
// A group other than the client's is written as Nacos writes it,
// "lb://GROUP@@name/path", which net/url reads as user information.
func (l *LoadBalancer) target(u *url.URL) (t callee, ok bool, err error) {
	if u.Scheme != schemeHTTP && u.Scheme != schemeHTTPS && u.Scheme != schemeLB {
		return t, false, nil
	}
	if u.Scheme != schemeLB {
		if only := l.config.Load().balanced; only != nil && !only[strings.ToLower(u.Host)] {
			return t, false, nil
		}
	}
	if u.User == nil {
		if s := l.called(u.Host); s != nil {
			return callee{s.id, s}, true, nil
		}
	}
	switch {
	case isServiceName(u.Host):
		t.id = l.ID(u.Host).Normalize()
		if group, ok := groupOf(u.User); ok {
			t.id.Group = group
		}
		t.state = l.services.get(t.id)
		return t, true, nil
	case u.Scheme == schemeLB:
		return t, false, fmt.Errorf("%s://%s does not name a service", schemeLB, u.Host)
	}
	return t, false, nil
}

// called returns the state of a service that a host names and that was called
// before, so that its name need not be looked at again; else nil.
func (l *LoadBalancer) called(host string) *state {
	for _, s := range (*l.services.current.Load())[host] {
		if !s.named {
			continue
		}
		if namespace, group := l.discovery.Defaults(); s.id.Namespace == namespace && s.id.Group == group {
			s.touch()
			return s
		}
	}
	return nil
}

// callee is whom a URL calls.
type callee struct {
	id registry.ServiceID
	// state is the service's; nil when it was never called.
	state *state
}

func isServiceName(host string) bool {
	if host == "" || strings.EqualFold(host, "localhost") || strings.ContainsAny(host, ":[") {
		return false
	}
	if strings.Trim(host, "0123456789.") != "" {
		return true // no IPv4 literal
	}
	_, err := netip.ParseAddr(host)
	return err != nil
}

// groupOf reads "GROUP@" in front of "@name".
func groupOf(user *url.Userinfo) (string, bool) {
	if user == nil {
		return "", false
	}
	if _, secret := user.Password(); secret {
		return "", false
	}
	return strings.CutSuffix(user.Username(), "@")
}

// address returns an outgoing copy of the request that goes to the instance. It
// shares everything with the original that a transport only reads.
func address(original *http.Request, chosen Result, preserveHost bool) *http.Request {
	copies := &struct {
		http.Request
		url.URL
	}{*original, *original.URL} // in one piece, since every call makes one
	out, u := &copies.Request, &copies.URL
	out.URL = u
	var secure bool
	if e := chosen.endpoint; e != nil {
		u.Host, secure = e.host, e.secure.Load()
	} else {
		u.Host, secure = hostOf(chosen.Instance), chosen.Instance.Secure()
	}
	switch {
	case secure:
		u.Scheme = schemeHTTPS
	case u.Scheme == schemeLB:
		u.Scheme = schemeHTTP
	}
	if _, ok := groupOf(u.User); ok {
		dropGroup(out)
	}
	switch {
	case out.Host == "" && preserveHost:
		out.Host = original.URL.Host
	case out.Host == original.URL.Host && !preserveHost:
		// http.NewRequest fills in the service's name, which the instance's own
		// virtual hosts do not know. A host that the caller set stays.
		out.Host = ""
	}
	return out
}

// dropGroup takes a group out of the URL, and the credentials that http.Client
// took it for out of the header.
func dropGroup(out *http.Request) {
	name, password, ok := out.BasicAuth()
	taken := ok && password == "" && name == out.URL.User.Username()
	out.URL.User = nil
	if taken {
		out.Header = out.Header.Clone()
		out.Header.Del("Authorization")
	}
}
