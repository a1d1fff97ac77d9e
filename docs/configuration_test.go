package docs_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/server"
)

// chapter is a block of keys and the struct that holds its defaults.
type chapter struct {
	prefix   string
	defaults any
}

// applicationChapters are the blocks that every application reads.
func applicationChapters() []chapter {
	return []chapter{
		{"application", autoconfig.ApplicationProperties{}},
		{"server", autoconfig.DefaultServerProperties()},
		{"logging", autoconfig.DefaultLoggingProperties()},
		{"management", autoconfig.DefaultManagementProperties()},
		{"cloud.service-registry", autoconfig.DefaultServiceRegistryProperties()},
		{"cloud.discovery", autoconfig.DefaultDiscoveryProperties()},
		{"cloud.inetutils", autoconfig.DefaultInetUtilsProperties()},
		{"cloud.nacos", autoconfig.DefaultNacosProperties()},
		{"cloud.loadbalancer", loadbalance.DefaultProperties()},
	}
}

// serverChapters are those that the registry server reads besides.
func serverChapters() []chapter {
	return []chapter{{"nacos", server.DefaultProperties()}}
}

const configurationHead = `# Configuration

Written by ` + "`ROLLCALL_WRITE_DOCS=1 go test ./docs`" + ` from the structs that hold the
settings, their comments and their defaults.

The rules of reading, with examples, are a chapter of the guide:
[Configuration](guide/configuration.md). In short:

- Sources, the weakest first: the defaults below, ` + "`autoconfig.Default`" + `, the YAML
  file, the environment, ` + "`autoconfig.Property`" + `.
- Every key has an environment variable, which stands below it in the tables.
  Lists are comma text there, maps and lists of blocks are JSON.
- ` + "`server-addr`, `serverAddr` and `server_addr`" + ` are one key, nested or joined with
  dots. A leading ` + "`spring.`" + ` is left out.
- A duration is 500ms, 5s or 1m30s; a whole number without a unit is milliseconds.
- An empty value leaves the default.
- [configs/application.yaml](../configs/application.yaml) is a file with every key of
  an application, [configs/server.yaml](../configs/server.yaml) one for the registry
  server.
`

// TestConfigurationIsThatOfTheStructs compares configuration.md with the structs
// of the settings, their comments and their defaults.
func TestConfigurationIsThatOfTheStructs(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(configurationHead)
	sources := newComments(t)
	text.WriteString("\n## An application\n")
	for _, c := range applicationChapters() {
		writeBlock(&text, sources, c.prefix, reflect.ValueOf(c.defaults))
	}
	text.WriteString("\n## The registry server\n\nThe server is an application of the framework: the blocks `server`, `logging` and\n`management` above are its own too, with 8848 for `server.port` and `/nacos` for\n`server.context-path`. These are added:\n")
	for _, c := range serverChapters() {
		writeBlock(&text, sources, c.prefix, reflect.ValueOf(c.defaults))
	}
	if os.Getenv("ROLLCALL_WRITE_DOCS") != "" {
		require.NoError(t, os.WriteFile("configuration.md", []byte(text.String()), 0o644))
		return
	}
	have, err := os.ReadFile("configuration.md")
	require.NoError(t, err)
	require.Equal(t, text.String(), string(have), "run: ROLLCALL_WRITE_DOCS=1 go test ./docs")
}

// TestConfigurationHasTheKeysOfTheSample compares with configs/application.yaml,
// which the tests of autoconfig hold against what is really read.
func TestConfigurationHasTheKeysOfTheSample(t *testing.T) {
	t.Parallel()
	sample, err := os.ReadFile("../configs/application.yaml")
	require.NoError(t, err)
	var tree map[string]any
	require.NoError(t, yaml.Unmarshal(sample, &tree))
	page := readPage(t, "docs/configuration.md")
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`<br>").FindAllStringSubmatch(page, -1) {
		listed[m[1]] = true
	}
	var look func(prefix string, node any)
	look = func(prefix string, node any) {
		if block, ok := node.(map[string]any); ok && !listed[prefix] {
			for name, below := range block {
				look(strings.TrimPrefix(prefix+"."+name, "."), below)
			}
			return
		}
		require.True(t, listed[prefix], "configuration.md lacks %s", prefix)
	}
	look("", tree)
}

// writeBlock writes the table of a block, and then those of the blocks in it.
func writeBlock(out *strings.Builder, c *comments, prefix string, v reflect.Value) {
	typ := v.Type()
	var rows, below strings.Builder
	for i := range typ.NumField() {
		f := typ.Field(i)
		key := prefix + "." + f.Tag.Get("mapstructure")
		if f.Type.Kind() == reflect.Struct {
			if f.Type.NumField() == 1 && f.Type.Field(0).Type.Kind() == reflect.Bool {
				writeRow(&rows, key+"."+f.Type.Field(0).Tag.Get("mapstructure"), v.Field(i).Field(0), c.switchText(typ, f))
				continue
			}
			writeBlock(&below, c, key, v.Field(i))
			continue
		}
		writeRow(&rows, key, v.Field(i), c.field(typ, f))
		if elem := elementBlock(f.Type); elem != nil {
			suffix := "[]"
			if f.Type.Kind() == reflect.Map {
				suffix = ".*[]"
			}
			for j := range elem.NumField() {
				e := elem.Field(j)
				fmt.Fprintf(&rows, "| `%s%s.%s` | %s | | %s |\n", key, suffix, e.Tag.Get("mapstructure"), typeWord(e.Type), c.field(elem, e))
			}
		}
	}
	if rows.Len() > 0 {
		fmt.Fprintf(out, "\n### %s\n\n| key, environment variable | type | default | what it is |\n|---|---|---|---|\n%s", prefix, rows.String())
	}
	out.WriteString(below.String())
}

func writeRow(out *strings.Builder, key string, value reflect.Value, text string) {
	env := strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
	fmt.Fprintf(out, "| `%s`<br>`%s` | %s | %s | %s |\n", key, env, typeWord(value.Type()), defaultText(value), text)
}

// elementBlock is the struct that a list or a map of lists is made of.
func elementBlock(typ reflect.Type) reflect.Type {
	for typ.Kind() == reflect.Map || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Struct {
		return typ
	}
	return nil
}

func typeWord(typ reflect.Type) string {
	switch {
	case typ == reflect.TypeFor[time.Duration]():
		return "duration"
	case typ.Kind() == reflect.Bool:
		return "true/false"
	case typ.Kind() == reflect.Int:
		return "whole number"
	case typ.Kind() == reflect.Float64:
		return "number"
	case typ.Kind() == reflect.Slice:
		return "list"
	case typ.Kind() == reflect.Map && typ.Elem().Kind() == reflect.Slice:
		return "map of lists"
	case typ.Kind() == reflect.Map:
		return "map"
	}
	return "text"
}

func defaultText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, fmt.Sprint(v.Index(i).Interface()))
		}
		return "`[" + strings.Join(parts, ", ") + "]`"
	case reflect.Map:
		return "`{}`"
	case reflect.String:
		if v.Len() == 0 {
			return "`\"\"`"
		}
	}
	return fmt.Sprintf("`%v`", v.Interface())
}
