package loadbalance

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"

	"github.com/rollcall-go/rollcall/registry"
)

// Override returns p with the values of a generic map over it, the way
// Properties.Clients does: kebab-case keys, which may also be written in camel or
// snake case, nested or joined with dots; texts are read as what the key holds,
// durations in Go's syntax or as whole milliseconds, lists also as text with
// commas. The error names every key that does not exist, may not be overridden
// for a single service, or holds something else.
func (p Properties) Override(values map[string]any) (Properties, error) {
	merged, err := p.override(values)
	if err != nil {
		return p, err
	}
	return merged, nil
}

// override also returns what could be read beside an error.
func (p Properties) override(values map[string]any) (Properties, error) {
	merged := p.Clone()
	merged.Clients = nil
	tree, err := nested(values)
	if err != nil {
		return merged, err
	}
	var unknown mapstructure.Metadata
	dec, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result:     &merged,
		Metadata:   &unknown,
		MatchName:  func(key, field string) bool { return uniformName(key) == uniformName(field) },
		DecodeHook: readValue,
	})
	if err != nil {
		return merged, fmt.Errorf("decode overrides: %w", err)
	}
	errs := decodeErrors(dec.Decode(tree))
	slices.Sort(unknown.Unused)
	for _, key := range unknown.Unused {
		errs = append(errs, fmt.Errorf("%s: there is no such key", key))
	}
	for _, only := range []struct {
		key     string
		changed bool
	}{
		{"enabled", merged.Enabled != p.Enabled},
		{"retry.enabled", merged.Retry.Enabled && !p.Retry.Enabled},
		{"stats.enabled", merged.Stats.Enabled != p.Stats.Enabled},
		{"eager-load.clients", !slices.Equal(merged.EagerLoad.Clients, p.EagerLoad.Clients)},
		{"http.balanced-hosts", !slices.Equal(merged.HTTP.BalancedHosts, p.HTTP.BalancedHosts)},
		{"clients", merged.Clients != nil},
	} {
		if only.changed {
			errs = append(errs, fmt.Errorf("%s: cannot be set for a single service", only.key))
		}
	}
	return merged, errors.Join(errs...)
}

// For returns the values that count for a service: the common ones with those of
// clients.<id> over them. The id is the service's name or GROUP@@name, in any
// case; the latter goes first. Clients of the answer is nil.
func (p Properties) For(id registry.ServiceID) (Properties, error) {
	for _, name := range []string{id.Grouped(), id.Name} {
		if key, ok := keyInAnyCase(p.Clients, name); ok {
			merged, err := p.Override(p.Clients[key])
			if err != nil {
				return merged, keyed("clients."+key, err)
			}
			return merged, nil
		}
	}
	common := p
	common.Clients = nil
	return common, nil
}

// keyInAnyCase returns the key of a table by service that is a name: the very one,
// else the first by its letters, so that it is the same each time.
func keyInAnyCase[V any](table map[string]V, name string) (key string, ok bool) {
	if _, ok := table[name]; ok {
		return name, true
	}
	for other := range table {
		if strings.EqualFold(other, name) && (!ok || other < key) {
			key, ok = other, true
		}
	}
	return key, ok
}

// nested splits joined names, "retry.backoff.enabled", at their dots; the maps
// whose keys are the user's own keep theirs.
func nested(values map[string]any) (map[string]any, error) {
	tree := map[string]any{}
	for _, key := range sortedKeys(values) {
		if err := put(tree, key, values[key]); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

func put(tree map[string]any, key string, value any) error {
	name, rest, joined := strings.Cut(key, ".")
	block, isBlock := value.(map[string]any)
	if !joined && !isBlock {
		tree[name] = value
		return nil
	}
	below, err := blockOf(tree, name)
	switch {
	case err != nil:
		return err
	case !joined && ownNames[uniformName(name)]:
		maps.Copy(below, block)
		return nil
	case !joined:
		for _, k := range sortedKeys(block) {
			if err := put(below, k, block[k]); err != nil {
				return err
			}
		}
		return nil
	case ownNames[uniformName(name)]:
		below[rest] = value
		return nil
	}
	return put(below, rest, value)
}

// blockOf returns the block of a name, in whatever spelling it is there already.
func blockOf(tree map[string]any, name string) (map[string]any, error) {
	for key, value := range tree {
		if uniformName(key) == uniformName(name) {
			if block, ok := value.(map[string]any); ok {
				return block, nil
			}
			return nil, fmt.Errorf("%s: is a value and a block at once", name)
		}
	}
	block := map[string]any{}
	tree[name] = block
	return block, nil
}

// ownNames are the keys below which names are service ids or media types.
var ownNames = map[string]bool{"hint": true, "path": true, "mediatypeparameters": true}

// uniformName is the same for all spellings of a name.
func uniformName(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

// readValue is the hook that reads a text or number as what a field holds.
// One that means "not set" leaves it as it is.
func readValue(from, to reflect.Value) (any, error) {
	data := from.Interface()
	text, isText := data.(string)
	trimmed := strings.TrimSpace(text)
	isDuration := to.Type() == reflect.TypeFor[time.Duration]()
	switch {
	case isText && to.Kind() != reflect.String && to.Kind() != reflect.Interface && trimmed == "",
		isDuration && fmt.Sprint(data) == "-1":
		return to.Interface(), nil
	case isDuration:
		return readDuration(data)
	case !isText:
		return data, nil
	}
	switch to.Kind() {
	case reflect.Bool:
		switch strings.ToLower(trimmed) {
		case "true", "yes", "on":
			return true, nil
		case "false", "no", "off":
			return false, nil
		}
		return nil, errors.New("must be true or false")
	case reflect.Int:
		n, err := strconv.Atoi(trimmed)
		if err != nil {
			return nil, errors.New("must be a whole number")
		}
		return n, nil
	case reflect.Float64:
		f, err := strconv.ParseFloat(trimmed, 64)
		if err != nil {
			return nil, errors.New("must be a number")
		}
		return f, nil
	case reflect.Slice:
		list := []any{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list, nil
	}
	return data, nil
}

// readDuration reads Go's syntax; a bare whole number is milliseconds.
func readDuration(data any) (any, error) {
	if d, ok := data.(time.Duration); ok {
		return d, nil
	}
	text := strings.TrimSpace(fmt.Sprint(data))
	const most = int64(1<<63-1) / int64(time.Millisecond)
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= -most && ms <= most {
		return time.Duration(ms) * time.Millisecond, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, errors.New("must be a duration such as 500ms, 5s or 1m30s")
	}
	return d, nil
}

// decodeErrors takes the wrapping of mapstructure off: key and reason remain.
func decodeErrors(err error) []error {
	if err == nil {
		return nil
	}
	var errs []error
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) { // whose parts know their keys
		for _, e := range joined.Unwrap() {
			errs = append(errs, decodeErrors(e)...)
		}
		return errs
	}
	var decoding *mapstructure.DecodeError
	if !errors.As(err, &decoding) {
		return []error{err}
	}
	for _, inner := range decodeErrors(decoding.Unwrap()) {
		errs = append(errs, fmt.Errorf("%s: %w", decoding.Name(), inner))
	}
	return errs
}

// keyed puts a key in front of each line of an error.
func keyed(key string, err error) error {
	if err == nil {
		return nil
	}
	var errs []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		errs = append(errs, errors.New(key+"."+line))
	}
	return errors.Join(errs...)
}
