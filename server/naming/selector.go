package naming

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Selector types.
const (
	SelectorNone  = "none"
	SelectorLabel = "label"
)

// Selector is a service's rule for which providers a consumer sees. It compares
// labels that an asset database has for both addresses; there is none here, so
// every label is unknown and nothing is ever filtered, as in a Nacos without its
// plug-in. It is kept and shown. The zero Selector is none.
type Selector struct {
	// Type is SelectorLabel, or SelectorNone or "" for none.
	Type       string
	Expression string
	Labels     []string
}

// MarshalJSON implements json.Marshaler in the form of a service's detail.
func (s Selector) MarshalJSON() ([]byte, error) {
	if s.Type != SelectorLabel {
		return []byte(`{"type":"none"}`), nil
	}
	labels := s.Labels
	if labels == nil {
		labels = []string{}
	}
	return wire.Marshal(struct {
		Type       string   `json:"type"`
		Expression string   `json:"expression"`
		Labels     []string `json:"labels"`
	}{s.Type, s.Expression, labels})
}

// ParseSelector reads the parameter selector, which clients encode twice. Blank
// is none; what cannot be read is a [wire.BadRequest].
func ParseSelector(text string) (Selector, error) {
	if decoded, err := url.QueryUnescape(text); err == nil {
		text = decoded
	}
	kind, expression, err := readSelector(text)
	if err != nil || kind == SelectorNone {
		return Selector{}, err
	}
	labels, err := parseLabels(expression)
	if err != nil {
		return Selector{}, err
	}
	return Selector{Type: SelectorLabel, Expression: expression, Labels: labels}, nil
}

func readSelector(text string) (kind, expression string, err error) {
	if strings.TrimSpace(text) == "" {
		return SelectorNone, "", nil
	}
	var s struct{ Type, Expression string }
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return "", "", wire.BadRequestf("not match any type of selector! (%s)", wire.ExplainJSON(err))
	}
	switch s.Type {
	case SelectorNone, SelectorLabel:
		return s.Type, s.Expression, nil
	case "", "unknown":
		return "", "", wire.BadRequest("not match any type of selector!")
	}
	return "", "", wire.BadRequestf("No enum constant com.alibaba.nacos.api.selector.SelectorType.%s", wire.Excerpt(s.Type))
}

// parseLabels reads "CONSUMER.label.A = PROVIDER.label.A & …".
func parseLabels(expression string) ([]string, error) {
	expression = strings.ReplaceAll(expression, " ", "")
	if expression == "" {
		return nil, nil
	}
	const consumer, provider = "CONSUMER.label.", "PROVIDER.label."
	var labels []string
	for term := range strings.SplitSeq(expression, "&") {
		left, right, _ := strings.Cut(term, "=")
		a, okA := strings.CutPrefix(left, consumer)
		b, okB := strings.CutPrefix(right, provider)
		if !okA || !okB || a != b || a == "" || strings.Contains(a, "=") {
			return nil, wire.BadRequest("parse expression failed!")
		}
		if !slices.Contains(labels, a) {
			labels = append(labels, a)
		}
	}
	return labels, nil
}

// ListSelector filters the list of services by metadata. The zero value keeps
// them all.
type ListSelector struct {
	active   bool
	instance bool // the level: instances, or the service itself
	key      string
	value    string
}

// ParseListSelector reads the parameter selector of the service list:
// {"type":"label","expression":"INSTANCE.metadata.k = 'v'"}. The part before the
// first dot is the level, the part after the last dot the key.
func ParseListSelector(text string) (ListSelector, error) {
	kind, expression, err := readSelector(text)
	if err != nil || kind == SelectorNone || strings.TrimSpace(expression) == "" {
		return ListSelector{}, err
	}
	left, right, ok := strings.Cut(expression, "=")
	left = strings.TrimSpace(left)
	level, _, dotted := strings.Cut(left, ".")
	if !ok || !dotted || (level != "INSTANCE" && level != "SERVICE") {
		return ListSelector{}, wire.BadRequest("parse expression failed!")
	}
	return ListSelector{
		active: true, instance: level == "INSTANCE",
		key: left[strings.LastIndexByte(left, '.')+1:], value: strings.Trim(strings.TrimSpace(right), `'"`),
	}, nil
}

// Match says whether the service, or one of its instances, has the value.
func (s ListSelector) Match(r *Revision) bool {
	if !s.active {
		return true
	}
	has := func(m map[string]string) bool { v, ok := m[s.key]; return ok && v == s.value }
	if !s.instance {
		return has(r.service.Metadata)
	}
	for i := range r.All() {
		if has(i.Metadata) {
			return true
		}
	}
	return false
}
