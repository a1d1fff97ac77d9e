package wire

import (
	"fmt"
	"regexp"
	"strings"
)

// Defaults of the protocol (Nacos: Constants).
const (
	PublicNamespace = "public"
	DefaultGroup    = "DEFAULT_GROUP"
	DefaultCluster  = "DEFAULT"

	// GroupSeparator stands between group and name in a grouped service name.
	GroupSeparator = "@@"
)

var namespaceID = regexp.MustCompile(`^[\w-]+$`)

// MaxNamespaceID is the length of the longest id a namespace can be created with.
const MaxNamespaceID = 128

// CanCreateNamespace says whether a namespace can be created with this id: it has
// letters, digits, '-' and '_' (Nacos: NamespaceController). Services live in
// namespaces of any other id as well, which are then merely in use.
func CanCreateNamespace(id string) bool {
	return namespaceID.MatchString(id) && len(id) <= MaxNamespaceID
}

// ServiceName is a parsed grouped service name.
type ServiceName struct {
	Group string
	Name  string
}

// String returns "group@@name".
func (n ServiceName) String() string { return n.Group + GroupSeparator + n.Name }

// ServiceKey is a service within its namespace: the address of the double map.
type ServiceKey struct {
	Namespace string
	ServiceName
}

// String returns "namespace/group@@name" for logs; it is never parsed.
func (k ServiceKey) String() string { return k.Namespace + "/" + k.ServiceName.String() }

// ParseServiceName reads the parameters serviceName and groupName by the one
// rule of every endpoint (nacos-v1-http 0.3 and 4.1, server case SB-04): both
// are trimmed; a blank group means DEFAULT_GROUP; a name that holds "@@" carries
// its own group, which wins over groupName. The joined form has exactly one "@@"
// with text on both sides, a group does not end with "@" and a name does not
// begin with it, so that every name can be split in one way only.
//
// The error text is Nacos' where Nacos has one; it is a [BadRequest].
func ParseServiceName(serviceName, groupName string) (ServiceName, error) {
	serviceName, groupName = strings.TrimSpace(serviceName), strings.TrimSpace(groupName)
	if serviceName == "" {
		return ServiceName{}, BadRequestf("Param 'serviceName' is required.")
	}
	n := ServiceName{Group: groupName, Name: serviceName}
	if group, name, joined := strings.Cut(serviceName, GroupSeparator); joined {
		n = ServiceName{Group: strings.TrimSpace(group), Name: strings.TrimSpace(name)}
		if n.Group == "" || n.Name == "" {
			return ServiceName{}, errServiceName
		}
	}
	if n.Group == "" {
		n.Group = DefaultGroup
	}
	if strings.Contains(n.Group, GroupSeparator) || strings.Contains(n.Name, GroupSeparator) ||
		strings.HasSuffix(n.Group, "@") || strings.HasPrefix(n.Name, "@") {
		return ServiceName{}, errServiceName
	}
	if i := strings.IndexFunc(n.String(), notNameRune); i >= 0 {
		return ServiceName{}, BadRequestf(
			"dom name can only have these characters: 0-9a-zA-Z-._:, current: %s", Excerpt(n.String()))
	}
	return n, nil
}

// ParseGroup reads a group by itself, by the same rule.
func ParseGroup(text string) (string, error) {
	n, err := ParseServiceName("name", text)
	if err != nil {
		return "", BadRequestf("Param 'groupName' is illegal: %s", Excerpt(text))
	}
	return n.Group, nil
}

const errServiceName BadRequest = "Param 'serviceName' is illegal, it should be format as 'groupName@@serviceName'"

// notNameRune is the complement of Nacos' [0-9a-zA-Z@.:_-] (4.1).
func notNameRune(r rune) bool {
	switch {
	case '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		return false
	case r == '@', r == '.', r == ':', r == '_', r == '-':
		return false
	}
	return true
}

// BadRequest is an error about something the client sent; its text is the
// message for the client (nacos-v1-http 0.6: status 400, body "caused: text;").
type BadRequest string

func (e BadRequest) Error() string { return string(e) }

// BadRequestf formats a [BadRequest].
func BadRequestf(format string, args ...any) error {
	return BadRequest(fmt.Sprintf(format, args...))
}

// refusal is a request that cannot be done.
type refusal struct {
	kind error
	text BadRequest
}

func (r *refusal) Error() string   { return string(r.text) }
func (r *refusal) Unwrap() []error { return []error{r.kind, r.text} }

// Refusef formats a [BadRequest] that is of a kind as well, for callers to branch
// on (errors.Is).
func Refusef(kind error, format string, args ...any) error {
	return &refusal{kind: kind, text: BadRequest(fmt.Sprintf(format, args...))}
}

// Excerpt bounds text that came from outside before it is repeated in an error
// or a log line (server case SB-19).
func Excerpt(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
