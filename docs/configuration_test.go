package docs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/autoconfig/otlp"
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
		{"application", autoconfig.DefaultApplicationProperties()},
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

// tracingChapters are those that otlp.Module reads, in an application and in the
// server.
func tracingChapters() []chapter {
	return []chapter{
		{"management.tracing", otlp.DefaultSamplingProperties()},
		{"management.otlp.tracing", otlp.DefaultExportProperties()},
	}
}

// serverChapters are those that the registry server reads besides.
func serverChapters() []chapter {
	return []chapter{{"nacos", server.DefaultProperties()}, {"nacos.admin", server.DefaultAdminProperties()}}
}

const configurationHead = `# Configuration

Written by ` + "`ROLLCALL_WRITE_DOCS=1 go test ./docs`" + ` from the structs that hold the
settings, their comments and their defaults.

The rules of reading, with examples, are a chapter of the guide:
[Configuration](guide/configuration.md). In short:

- Sources, the weakest first: the defaults below, ` + "`autoconfig.Default`" + `, the YAML
  file, the environment, ` + "`autoconfig.Property`" + ` and ` + "`autoconfig.PropertyFrom`" + `.
- Every key has an environment variable, which stands below it in the tables; with
  ` + "`SPRING_`" + ` in front it is read as well, and the one without goes first.
  Lists are comma text there, maps and lists of blocks are JSON. A variable whose name
  is a slip of the hand away from one of them is warned of.
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
	text.WriteString("\n## Traces\n\nThese are read where `otlp.Module` of `autoconfig/otlp` is: in the registry server, and\nin an application that adds it.\n")
	for _, c := range tracingChapters() {
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

// TestConfigurationIsThatOfAnApplication compares configuration.md with what
// running applications say of their own configuration: the same keys, and each
// with the default that is in effect.
func TestConfigurationIsThatOfAnApplication(t *testing.T) {
	t.Parallel()
	listed := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`<br>`[^`]+` \\| [^|]+ \\| `([^|]*)` \\|").
		FindAllStringSubmatch(readPage(t, "docs/configuration.md"), -1) {
		listed[m[1]] = m[2]
	}
	said := map[string]bool{}
	for _, opts := range [][]fx.Option{
		{autoconfig.Property("application.name", "docs"), autoconfig.Property("cloud.nacos.discovery.register-enabled", false)},
		{server.Module, otlp.Module, autoconfig.Property("nacos.storage.dir", t.TempDir()), autoconfig.Property("server.lame-duck", "0s")},
	} {
		for key, p := range configProps(t, opts...) {
			said[key] = true
			require.Contains(t, listed, key)
			if p.Origin == "default" {
				require.Equal(t, listed[key], shownText(p.Value), key)
			}
		}
	}
	for key := range listed {
		require.True(t, said[key], "configuration.md has %s, which nothing reads", key)
	}
}

// property is a key as the endpoint configprops shows it.
type property struct {
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

// configProps runs an application and asks it.
func configProps(t *testing.T, opts ...fx.Option) map[string]property {
	t.Helper()
	app, err := autoconfig.New(append(opts,
		autoconfig.ConfigYAML("{}"),
		autoconfig.Logger(slog.New(slog.DiscardHandler)),
		autoconfig.Property("server.port", 0),
		autoconfig.Property("server.address", "127.0.0.1"),
		autoconfig.Property("server.context-path", "/"),
		autoconfig.Property("management.endpoints.exposure", "configprops"))...)
	require.NoError(t, err)
	require.NoError(t, app.Start(t.Context()))
	defer func() { require.NoError(t, app.Stop(context.Background())) }()
	var answer struct {
		Properties map[string]property `json:"properties"`
	}
	require.NoError(t, json.Unmarshal([]byte(get("http://"+app.Addr().String()+"/actuator/configprops")), &answer))
	require.NotEmpty(t, answer.Properties)
	return answer.Properties
}

// shownText is a value of that endpoint as the tables write it.
func shownText(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" {
			return `""`
		}
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = fmt.Sprint(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		return "{}"
	}
	return fmt.Sprint(v)
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
