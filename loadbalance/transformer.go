package loadbalance

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/rollcall-go/rollcall/registry"
)

// Transformer changes requests on their way to an instance (Spring's
// LoadBalancerRequestTransformer).
type Transformer struct {
	// Name is for messages, and decides between those of equal Order.
	Name string
	// Order decides who comes first, the lower.
	Order int
	// Transform returns the request to send, which may be the one it is given: that
	// has the instance's address and a header of its own, and may be changed but
	// for its body. Its context must be kept or wrapped. An error fails the call.
	Transform func(*http.Request, *registry.Instance) (*http.Request, error)
}

func inTransformOrder(transformers []Transformer) []Transformer {
	return slices.SortedStableFunc(slices.Values(transformers), func(a, b Transformer) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name))
	})
}

// transform runs the built-in transformers and those of the user.
func (t *Transport) transform(out, original *http.Request, chosen Result, set *callSettings) (*http.Request, error) {
	if len(t.transformers) == 0 && !set.xForwarded && set.stickyCookie == "" {
		return out, nil
	}
	header := out.Header.Clone() // the caller's is the caller's
	if header == nil {
		header = http.Header{}
	}
	out.Header = header
	if set.xForwarded {
		scheme := original.URL.Scheme
		if scheme == schemeLB {
			scheme = out.URL.Scheme
		}
		header.Add("X-Forwarded-Host", original.URL.Host)
		header.Add("X-Forwarded-Proto", scheme)
	}
	if set.stickyCookie != "" {
		id := instanceID(chosen.Instance)
		r := Request{Header: header}
		if there, _ := r.Cookie(set.stickyCookie); there != id {
			out.AddCookie(&http.Cookie{Name: set.stickyCookie, Value: id})
		}
	}
	for _, transformer := range t.transformers {
		next, err := transformer.Transform(out, chosen.Instance)
		if err != nil {
			return nil, &transformError{transformer.Name, err}
		}
		out = next
	}
	return out, nil
}

// transformError is the error of a transformer; trying again would not help.
type transformError struct {
	name string
	err  error
}

func (e *transformError) Error() string {
	return "transform the request (" + e.name + "): " + e.err.Error()
}

func (e *transformError) Unwrap() error { return e.err }
