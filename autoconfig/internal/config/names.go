package config

import (
	"reflect"
	"strings"
	"unicode"
)

// uniform folds the spellings of one name into one: server-addr, serverAddr,
// server_addr and SERVER_ADDR are the same key.
func uniform(segment string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return -1
		}
		return unicode.ToLower(r)
	}, segment)
}

// uniformPath folds each segment of a dotted key.
func uniformPath(key string) string {
	segments := strings.Split(key, ".")
	for i, s := range segments {
		segments[i] = uniform(s)
	}
	return strings.Join(segments, ".")
}

// springPrefix stands before the keys of Spring itself and of what belongs to it.
const springPrefix = "spring."

// springEnv stands before the environment variables of an application of Spring,
// as "spring." does before its keys; both are read as if it were not there.
const springEnv = "SPRING_"

// EnvName is the environment variable of a key: dots and dashes become
// underscores, letters upper case.
func EnvName(key string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// fieldName is the key of a struct field: its mapstructure tag, else its Go name
// in kebab-case.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get(tagName), ",")
	if name != "" {
		return name
	}
	return kebab(f.Name)
}

// squashed reports whether the keys of an embedded struct belong to its parent.
func squashed(f reflect.StructField) bool {
	_, options, _ := strings.Cut(f.Tag.Get(tagName), ",")
	return f.Anonymous && f.Tag.Get(tagName) == "" || strings.Contains(options, "squash")
}

// kebab writes a Go name as a key: ServerAddr is server-addr, IPType is ip-type.
func kebab(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
