package auth

import (
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Action is what is done to a resource.
type Action string

// The actions of Nacos.
const (
	Read  Action = "r"
	Write Action = "w"
)

// Resource is what a request is about, in the form that permissions match. The
// zero Resource is nothing, and nobody is allowed anything with it.
type Resource struct {
	text string
	// adminOnly is set for what no permission can give.
	adminOnly bool
}

// NamingResource is a service, "<namespace>:<group>:naming/<service>", with an
// empty namespace for the public one; without a service it stands for the whole
// namespace, "<namespace>:*:naming/*". Service is the bare name.
//
// A namespace or group that holds a colon would read like another namespace or
// group, so that only administrators come near it.
func NamingResource(namespace, group, service string) Resource {
	if namespace == wire.PublicNamespace {
		namespace = ""
	}
	if service == "" {
		group, service = "*", "*"
	}
	return Resource{
		text:      namespace + ":" + group + ":naming/" + service,
		adminOnly: strings.Contains(namespace, ":") || strings.Contains(group, ":"),
	}
}

// SwitchesResource is the switch object.
func SwitchesResource() Resource { return Resource{text: "naming/switches"} }

// AdminResource is something that only administrators may touch, whatever
// permissions there are: "console/users", "console/namespaces" and the like.
func AdminResource(name string) Resource { return Resource{text: name, adminOnly: true} }

// String returns the text that permissions match.
func (r Resource) String() string { return r.text }

// allows says whether a permission covers an action on a resource: its action
// text contains the action, and its resource, in which '*' stands for any text
// and everything else for itself, matches from end to end. A resource of three
// parts, as namespaces and services have it, matches part by part: a '*' does not
// reach beyond its colon, whatever the name of a service holds.
func (p Permission) allows(r Resource, a Action) bool {
	if a != Read && a != Write || !strings.Contains(p.Action, string(a)) {
		return false
	}
	pattern := p.Resource
	if rest, ok := strings.CutPrefix(pattern, wire.PublicNamespace+":"); ok {
		pattern = ":" + rest // as NamingResource spells it
	}
	return matchParts(pattern, r.text)
}

func matchParts(pattern, text string) bool {
	patterns, texts := strings.SplitN(pattern, ":", 3), strings.SplitN(text, ":", 3)
	if len(patterns) < 3 || len(texts) < 3 {
		return match(pattern, text)
	}
	return match(patterns[0], texts[0]) && match(patterns[1], texts[1]) && match(patterns[2], texts[2])
}

// match says whether text fits a pattern with '*' from end to end. It goes back
// to the last '*' only, so that the worst case is the product of both lengths.
func match(pattern, text string) bool {
	p, t := 0, 0
	star, resume := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			resume++
			p, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
