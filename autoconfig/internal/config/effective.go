package config

import (
	"encoding"
	"fmt"
	"reflect"
	"time"
)

// Effective is the value of a key as it counts.
type Effective struct {
	// Key is the full key.
	Key string
	// Value is that of the field; the default where nothing is configured.
	Value any
	// Origin says where it was written, "" for a default.
	Origin string
}

// Effective returns all keys in the order of the blocks.
func (c *Config) Effective() []Effective {
	all := make([]Effective, len(c.schema.leaves))
	for i, l := range c.schema.leaves {
		all[i] = Effective{Key: l.key, Value: l.fields[0].Interface()}
		if v, ok := c.raw(l); ok && v.kind != kindNull {
			all[i].Origin = v.origin
		}
	}
	return all
}

// Text is the value as a document would hold it; secrets are masked.
func (e Effective) Text() string {
	text := valueOf(e.Value, "").shown()
	if text != "" && text != "{}" && Secret(e.Key) {
		return masked
	}
	return text
}

// Shown is the value for people and JSON: texts, numbers, lists and maps. What is
// secret is masked, in maps by its key and in texts by what it looks like.
func (e Effective) Shown() any { return shown(e.Key, reflect.ValueOf(e.Value)) }

func shown(key string, v reflect.Value) any {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	if Secret(key) && (v.Kind() != reflect.Map || v.Len() > 0) {
		if v.IsZero() {
			return ""
		}
		return masked
	}
	if d, ok := v.Interface().(time.Duration); ok {
		return d.String()
	}
	if text, ok := v.Interface().(encoding.TextMarshaler); ok {
		b, err := text.MarshalText()
		if err != nil {
			return err.Error()
		}
		return withoutSecrets(string(b))
	}
	switch v.Kind() {
	case reflect.String:
		return withoutSecrets(v.String())
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = shown(key, v.Index(i))
		}
		return list
	case reflect.Map:
		m := make(map[string]any, v.Len())
		for iter := v.MapRange(); iter.Next(); {
			name := fmt.Sprint(iter.Key().Interface())
			m[name] = shown(name, iter.Value())
		}
		return m
	case reflect.Struct:
		m := make(map[string]any, v.NumField())
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				m[fieldName(f)] = shown(fieldName(f), v.Field(i))
			}
		}
		return m
	}
	return v.Interface()
}
