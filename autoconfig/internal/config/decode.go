package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"go.yaml.in/yaml/v3"
)

// errUnset says that a text means "not set": the default stays.
var errUnset = errors.New("unset")

// decoder turns values into Go values by the reading rules.
type decoder struct {
	// expand replaces the placeholders of a text.
	expand func(string) (string, error)
	// bareDuration is told when a duration was written without a unit.
	bareDuration func()
}

// decode returns v as a new value of type t, [errUnset] when v means nothing.
func (d *decoder) decode(v value, t reflect.Type) (reflect.Value, error) {
	out := reflect.New(t)
	plain, err := d.plain(v)
	if err != nil {
		return out.Elem(), err
	}
	if text, ok := plain.(string); ok && t.Kind() != reflect.String {
		if text = strings.TrimSpace(text); text == "" || t == reflect.TypeFor[time.Duration]() && text == "-1" {
			return out.Elem(), errUnset
		}
		if plain, err = structured(text, t); err != nil {
			return out.Elem(), err
		}
	}
	if err := checkShape(plain, t); err != nil {
		return out.Elem(), err
	}
	if m, ok := plain.(map[string]any); ok && t == reflect.TypeFor[map[string]string]() {
		flat := map[string]any{}
		flatten("", m, flat)
		plain = flat
	}
	dec, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result:       out.Interface(),
		TagName:      tagName,
		ErrorUnused:  true,
		MapFieldName: kebab,
		MatchName:    func(key, field string) bool { return uniform(key) == uniform(field) },
		DecodeHook:   mapstructure.ComposeDecodeHookFunc(d.scalar, mapstructure.TextUnmarshallerHookFunc()),
	})
	if err != nil {
		return out.Elem(), err
	}
	if err := dec.Decode(plain); err != nil {
		return out.Elem(), cleanError(err)
	}
	return out.Elem(), nil
}

// plain returns v as strings, slices and maps with all placeholders replaced, and
// nil for what is null, which leaves a field as it is.
func (d *decoder) plain(v value) (any, error) {
	switch v.kind {
	case kindList:
		list := make([]any, 0, len(v.list))
		for _, e := range v.list {
			p, err := d.plain(e)
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
		return list, nil
	case kindMap:
		m := make(map[string]any, len(v.pairs))
		for _, p := range v.pairs {
			e, err := d.plain(p.value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.key, err)
			}
			m[p.key] = e
		}
		return m, nil
	case kindNull: // however it was written: null, ~ or not at all
		return nil, nil
	}
	return d.expand(v.text)
}

// structured reads text that stands for a list (commas) or a map (JSON, as an
// environment variable holds it).
func structured(text string, t reflect.Type) (any, error) {
	switch {
	case t.Kind() == reflect.Map, t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		v, err := parseJSON(text)
		if err != nil {
			return nil, err
		}
		asIs := decoder{expand: func(s string) (string, error) { return s, nil }}
		return asIs.plain(v)
	case t.Kind() == reflect.Slice:
		var list []any
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list, nil
	}
	return text, nil
}

// parseJSON reads a list or map from one text.
func parseJSON(text string) (value, error) {
	var d document
	root, err := parseYAML([]byte(text)) // every JSON text is YAML
	if err == nil && root != nil && root.Kind != yaml.ScalarNode {
		if v := d.value(root, 0); len(d.errs) == 0 {
			return v, nil
		}
	}
	return value{}, errNoJSON
}

// errNoJSON says that one text was to hold a list or map and does not.
var errNoJSON = errors.New(`must be a JSON text such as {"zone":"a"}`)

// checkShape says when a list, a map or one value stands where another is
// wanted.
func checkShape(plain any, t reflect.Type) error {
	_, isMap := plain.(map[string]any)
	_, isList := plain.([]any)
	switch {
	case t.Kind() == reflect.Map && !isMap:
		return errors.New("must be a map of keys")
	case t.Kind() == reflect.Slice && !isList:
		return errors.New("must be a list")
	case t.Kind() != reflect.Map && t.Kind() != reflect.Slice && (isMap || isList):
		return errors.New("must be one value")
	}
	return nil
}

// flatten joins nested names with dots, as a properties file would write them.
func flatten(prefix string, m, into map[string]any) {
	for k, v := range m {
		if sub, ok := v.(map[string]any); ok {
			flatten(prefix+k+".", sub, into)
			continue
		}
		into[prefix+k] = v
	}
}

// scalar is the hook that reads text as the type of a field.
func (d *decoder) scalar(_, to reflect.Type, data any) (any, error) {
	text, ok := data.(string)
	if !ok || reflect.PointerTo(to).Implements(textUnmarshaler) {
		return data, nil
	}
	trimmed := strings.TrimSpace(text)
	if to == reflect.TypeFor[time.Duration]() {
		return d.duration(trimmed)
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
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(trimmed, 10, to.Bits())
		if err != nil {
			return nil, numberError(err, "must be a whole number")
		}
		return n, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(trimmed, 10, to.Bits())
		if err != nil {
			return nil, numberError(err, "must be a whole number of 0 or more")
		}
		return n, nil
	case reflect.Float32, reflect.Float64:
		n, err := strconv.ParseFloat(trimmed, to.Bits())
		if err != nil {
			return nil, numberError(err, "must be a number")
		}
		return n, nil
	}
	return data, nil
}

func numberError(err error, otherwise string) error {
	if errors.Is(err, strconv.ErrRange) {
		return errors.New("is out of range")
	}
	return errors.New(otherwise)
}

// duration reads Go's syntax; a bare whole number is milliseconds, the habit of
// Spring Cloud Alibaba.
func (d *decoder) duration(text string) (time.Duration, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		if ms > int64(1<<63-1)/int64(time.Millisecond) || ms < -int64(1<<63-1)/int64(time.Millisecond) {
			return 0, errors.New("is out of range")
		}
		d.bareDuration()
		return time.Duration(ms) * time.Millisecond, nil
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("must be a duration such as 500ms, 5s or 1m30s")
	}
	return v, nil
}

// cleanError takes the wrapping of mapstructure off: the key and the value stand
// in the problem already.
func cleanError(err error) error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var texts []string
		for _, e := range joined.Unwrap() {
			texts = append(texts, cleanError(e).Error())
		}
		return errors.New(strings.Join(texts, "; "))
	}
	var decoding *mapstructure.DecodeError
	if errors.As(err, &decoding) {
		inner := cleanError(decoding.Unwrap())
		if name := strings.Trim(decoding.Name(), "."); name != "" {
			return fmt.Errorf("%s: %w", name, inner)
		}
		return inner
	}
	return err
}
