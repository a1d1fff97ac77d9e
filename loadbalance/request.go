package loadbalance

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/registry"
)

// Request is what stages and pickers may know about the call. They read it and
// never change it or what it refers to.
type Request struct {
	// Context is the call's context; never nil when a picker sees it.
	Context context.Context
	// Service is the normalised id called.
	Service registry.ServiceID
	// Tried holds the instances that earlier attempts of this call used; a picker
	// avoids them while it has others. Nil on the first attempt.
	Tried []*registry.Instance
	// Reachable says to which instances the caller can send right now, for callers
	// that hold their connections themselves; nil is all. It is asked about the
	// instance that the policy chose and, only when that is not reachable, about the
	// others that the chain allows.
	Reachable func(*registry.Instance) bool
	// Lost says which of the instances that are not reachable will not be so soon;
	// nil is none. When the policy chose a lost one, it chooses again from what the
	// chain leaves without all that are, and Reachable is asked about that choice
	// before others. A call that asked for certain instances, by a hint or a cookie,
	// is not given others while one of these is neither reachable nor lost: the
	// choice is [ErrNoInstance], and can be made again soon.
	Lost func(*registry.Instance) bool
	// Method is the HTTP method, or the full method of another protocol; may be "".
	Method string
	// Header holds the call's header, or another protocol's metadata under
	// canonical names; may be nil.
	Header http.Header
	// HeaderOf returns what Header would hold where that is nil, for callers to whom
	// it costs something. It is called at most once, before the choice, and only when
	// a stage, a policy or a [Lifecycle] may look at Header.
	HeaderOf func(context.Context) http.Header
	// URL is what the caller asked for; nil where there is none.
	URL *url.URL
}

// fillHeader has Header hold what HeaderOf returns.
func (r *Request) fillHeader() {
	if r.HeaderOf != nil && r.Header == nil {
		r.Header = r.HeaderOf(r.Context)
	}
	r.HeaderOf = nil
}

// Cookie returns the value of the first cookie of that name in the header.
func (r *Request) Cookie(name string) (string, bool) {
	// Read by hand: http.Request.Cookie builds a list of all cookies each time.
	for _, line := range r.Header["Cookie"] {
		for part := range strings.SplitSeq(line, ";") {
			key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
			if ok && key == name {
				return strings.Trim(value, `"`), true
			}
		}
	}
	return "", false
}

// Query returns the value of the first query parameter of that name.
func (r *Request) Query(name string) (string, bool) {
	if r.URL == nil {
		return "", false
	}
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		key, value, _ := strings.Cut(part, "=")
		if key != name && strings.ContainsAny(key, "%+") {
			key, _ = url.QueryUnescape(key) // "" when it cannot be read
		}
		if key != name {
			continue
		}
		if !strings.ContainsAny(value, "%+") {
			return value, true
		}
		value, err := url.QueryUnescape(value)
		return value, err == nil
	}
	return "", false
}

// header returns the first value of a canonical header name.
func (r *Request) header(canonical string) string {
	if values := r.Header[canonical]; len(values) > 0 {
		return values[0]
	}
	return ""
}

type clientAddrKey struct{}

// WithClientAddr returns a context that says for whom the calls made with it
// are, for consistent hashing by ip: a gateway passes its own caller's address.
func WithClientAddr(ctx context.Context, addr netip.Addr) context.Context {
	return context.WithValue(ctx, clientAddrKey{}, addr.String())
}

// clientAddr returns for whom the call is: what [WithClientAddr] said, else the
// first address in X-Forwarded-For.
func (r *Request) clientAddr() string {
	if r.Context != nil {
		if addr, ok := r.Context.Value(clientAddrKey{}).(string); ok {
			return addr
		}
	}
	first, _, _ := strings.Cut(r.header("X-Forwarded-For"), ",")
	return strings.TrimSpace(first)
}

// avoids reports whether the call should not go to the instance, or cannot.
func (r *Request) avoids(i *registry.Instance) bool {
	return len(r.Tried) > 0 && r.wasTried(i) || !r.reaches(i)
}

func (r *Request) reaches(i *registry.Instance) bool {
	return r.Reachable == nil || r.Reachable(i)
}

func (r *Request) lost(i *registry.Instance) bool { return r.Lost != nil && r.Lost(i) }

// wasTried reports whether an earlier attempt of the call went to the instance.
// The list may have been refreshed in between, so the address counts and not
// the pointer.
func (r *Request) wasTried(i *registry.Instance) bool {
	return slices.ContainsFunc(r.Tried, func(t *registry.Instance) bool {
		return t == i || t.IP == i.IP && t.Port == i.Port && t.Cluster == i.Cluster
	})
}
