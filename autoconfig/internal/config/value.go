package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// value is a configured value as it was written: text, a list or a map. Text is
// kept exactly ("1.10" stays "1.10"); it gets a type only when it meets a field.
type value struct {
	kind   kind
	text   string
	list   []value
	pairs  []pair // in the order of the document
	origin string // where it was written, for messages
}

type pair struct {
	key   string // case-exact
	value value
}

type kind int

const (
	kindText kind = iota
	kindNull
	kindList
	kindMap
)

// set puts a pair in place of one with the same key, or at the end.
func (v *value) set(key string, val value) {
	i := slices.IndexFunc(v.pairs, func(p pair) bool { return p.key == key })
	if i < 0 {
		v.pairs = append(v.pairs, pair{key, val})
		return
	}
	v.pairs[i].value = val
}

// setBelow is set for a key inside the map of a name.
func (v *value) setBelow(name, key string, val value) {
	inner := value{kind: kindMap, origin: val.origin}
	if i := slices.IndexFunc(v.pairs, func(p pair) bool { return p.key == name && p.value.kind == kindMap }); i >= 0 {
		inner = v.pairs[i].value
		inner.pairs = slices.Clone(inner.pairs)
	}
	inner.set(key, val)
	v.set(name, inner)
}

// below returns what stands in a map under a path, whose names may hold dots.
func (v value) below(path string) (value, bool) {
	for _, p := range v.pairs {
		if p.key == path {
			return p.value, true
		}
		if rest, ok := strings.CutPrefix(path, p.key+"."); ok {
			if found, ok := p.value.below(rest); ok {
				return found, true
			}
		}
	}
	return value{}, false
}

// String is the value as one text.
func (v value) String() string { return v.join(false) }

// shown is the value as a message may show it.
func (v value) shown() string { return v.join(true) }

// join makes one text of a value, and hides what is secret in it.
func (v value) join(hide bool) string {
	switch v.kind {
	case kindNull:
		return ""
	case kindList:
		parts := make([]string, len(v.list))
		for i, e := range v.list {
			parts[i] = e.join(hide)
		}
		return strings.Join(parts, ",")
	case kindMap:
		parts := make([]string, len(v.pairs))
		for i, p := range v.pairs {
			text := p.value.join(hide)
			if hide && text != "" && Secret(p.key) {
				text = masked
			}
			parts[i] = p.key + ": " + text
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	if hide {
		return withoutSecrets(v.text)
	}
	return v.text
}

// valueOf turns a value from code into one that a document could have held.
func valueOf(x any, origin string) value {
	v := value{origin: origin}
	if s, ok := x.(fmt.Stringer); ok { // time.Duration among them
		v.text = s.String()
		return v
	}
	switch rv := reflect.ValueOf(x); rv.Kind() {
	case reflect.Invalid:
		v.kind = kindNull
	case reflect.Slice, reflect.Array:
		v.kind = kindList
		for i := range rv.Len() {
			v.list = append(v.list, valueOf(rv.Index(i).Interface(), origin))
		}
	case reflect.Map:
		v.kind = kindMap
		for iter := rv.MapRange(); iter.Next(); {
			v.pairs = append(v.pairs, pair{fmt.Sprint(iter.Key().Interface()), valueOf(iter.Value().Interface(), origin)})
		}
		slices.SortFunc(v.pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	case reflect.Struct:
		if text, ok := x.(encoding.TextMarshaler); ok {
			b, err := text.MarshalText()
			if err == nil {
				v.text = string(b)
				return v
			}
		}
		v.kind = kindMap
		for i := range rv.NumField() {
			if f := rv.Type().Field(i); f.IsExported() {
				v.pairs = append(v.pairs, pair{fieldName(f), valueOf(rv.Field(i).Interface(), origin)})
			}
		}
	default:
		v.text = fmt.Sprint(x)
	}
	return v
}
