package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type demo struct {
	Name     string
	Port     int
	Weight   float64
	On       bool
	Wait     time.Duration
	List     []string
	Metadata map[string]string
	Password string
	Catalog  map[string][]entry
	Nested   struct{ IPType string }
}

type entry struct {
	Host       string
	Port       int
	InstanceID string
	Labels     map[string]string
}

func defaults() demo {
	return demo{Name: "def", Port: 1, Wait: 5 * time.Second, List: []string{"a", "b"}, Metadata: map[string]string{"k": "v"}}
}

// load reads a document into a demo at the prefix app.demo.
func load(t *testing.T, s Sources) (demo, *Config) {
	t.Helper()
	d := defaults()
	c, err := Load(s, Block{"app.demo", &d})
	require.NoError(t, err)
	return d, c
}

func set(key string, value any) Setting { return Setting{Key: "app.demo." + key, Value: value} }

func TestLoad_DefaultsStay(t *testing.T) {
	d, c := load(t, Sources{Text: "other: 1\n"})
	require.NoError(t, c.Err())
	require.Equal(t, defaults(), d)
}

// What stands for nothing is nothing, and not the word for it.
func TestLoad_NullInAMapIsEmpty(t *testing.T) {
	for _, text := range []string{
		"app.demo.metadata: {a: null, b: ~, c: , d: {e: Null}}\napp.demo.list: [null, x]\n",
		"app.demo.metadata: '{\"a\":null,\"b\":null,\"c\":null,\"d\":{\"e\":null}}'\napp.demo.list: [~, x]\n",
	} {
		d, c := load(t, Sources{Text: text})
		require.NoError(t, c.Err())
		require.Equal(t, map[string]string{"a": "", "b": "", "c": "", "d.e": ""}, d.Metadata)
		require.Equal(t, []string{"", "x"}, d.List)
	}
	d, c := load(t, Sources{Text: "app.demo.catalog: {a: [{host: h, port: , instance-id: null, labels: ~}]}\n"})
	require.NoError(t, c.Err())
	require.Equal(t, map[string][]entry{"a": {{Host: "h"}}}, d.Catalog)
}

func TestLoad_StrongerSourcesWin(t *testing.T) {
	text := "app: {demo: {name: file}}\n"
	weak := []Setting{set("name", "weak")}
	strong := []Setting{set("name", "strong")}

	d, _ := load(t, Sources{Text: "other: 1\n", Defaults: weak})
	require.Equal(t, "weak", d.Name)
	d, _ = load(t, Sources{Text: text, Defaults: weak})
	require.Equal(t, "file", d.Name)
	t.Setenv("APP_DEMO_NAME", "env")
	d, _ = load(t, Sources{Text: text, Defaults: weak})
	require.Equal(t, "env", d.Name)
	d, _ = load(t, Sources{Text: text, Defaults: weak, Properties: strong})
	require.Equal(t, "strong", d.Name)
}

func TestLoad_EveryTypeFromEverySource(t *testing.T) {
	want := demo{
		Name: "n", Port: 80, Weight: 1.5, On: true, Wait: 1500 * time.Millisecond, List: []string{"x", "y"},
		Metadata: map[string]string{"gRPC_port": "1", "a.b": "c"}, Password: "p",
		Catalog: map[string][]entry{"Order-Service": {{Host: "h", Port: 1, InstanceID: "i", Labels: map[string]string{"Zone": "a"}}}},
	}
	want.Nested.IPType = "IPv4"

	t.Run("document", func(t *testing.T) {
		d, c := load(t, Sources{Text: `
app.demo:
  name: n
  port: 80
  weight: 1.5
  on: yes
  wait: 1.5s
  list: [x, y]
  metadata: { gRPC_port: 1, a.b: c }
  password: p
  catalog: { Order-Service: [{ host: h, port: 1, instanceId: i, labels: { Zone: a } }] }
  nested: { ipType: IPv4 }
`})
		require.NoError(t, c.Err())
		require.Equal(t, want, d)
	})
	t.Run("environment", func(t *testing.T) {
		for name, value := range map[string]string{
			"NAME": "n", "PORT": "80", "WEIGHT": "1.5", "ON": "true", "WAIT": "1500", "LIST": "x, y", "PASSWORD": "p",
			"METADATA": `{"gRPC_port": 1, "a.b": "c"}`, "NESTED_IP_TYPE": "IPv4",
			"CATALOG": `{"Order-Service": [{"host": "h", "port": 1, "instance-id": "i", "labels": {"Zone": "a"}}]}`,
		} {
			t.Setenv("APP_DEMO_"+name, value)
		}
		d, c := load(t, Sources{Text: "other: 1\n"})
		require.NoError(t, c.Err())
		require.Equal(t, want, d)
	})
	t.Run("code", func(t *testing.T) {
		d, c := load(t, Sources{Text: "other: 1\n", Properties: []Setting{
			set("name", "n"), set("port", 80), set("weight", 1.5), set("on", true), set("wait", 1500*time.Millisecond),
			set("list", []string{"x", "y"}), set("metadata", map[string]string{"gRPC_port": "1"}), set("metadata.a.b", "c"),
			set("password", "p"), set("nested.ip-type", "IPv4"),
			set("catalog", map[string]any{"Order-Service": []any{map[string]any{"host": "h", "port": 1, "instance-id": "i", "labels": map[string]any{"Zone": "a"}}}}),
		}})
		require.NoError(t, c.Err())
		require.Equal(t, want, d)
	})
}

func TestLoad_DefaultsAreReplacedNotMerged(t *testing.T) {
	d, _ := load(t, Sources{Text: "app.demo: {list: [], metadata: {}}\n"})
	require.Empty(t, d.List)
	require.Empty(t, d.Metadata)
	require.Equal(t, map[string]string{"k": "v"}, defaults().Metadata)
}

func TestLoad_APropertyAddsToAMap(t *testing.T) {
	d, _ := load(t, Sources{
		Text:       "app.demo.metadata: {a: 1, b: 2}\n",
		Properties: []Setting{set("metadata.b", "3"), set("metadata.C", 4)},
	})
	require.Equal(t, map[string]string{"a": "1", "b": "3", "C": "4"}, d.Metadata)
	t.Setenv("APP_DEMO_METADATA", `{"x": "y"}`)
	d, c := load(t, Sources{Text: "app.demo.metadata: {a: 1}\n", Properties: []Setting{set("metadata.b", "3")}})
	require.NoError(t, c.Err())
	require.Equal(t, map[string]string{"x": "y", "b": "3"}, d.Metadata)
	t.Setenv("APP_DEMO_METADATA", "zone=a")
	_, c = load(t, Sources{Text: "other: 1\n", Properties: []Setting{set("metadata.b", "3")}})
	require.ErrorContains(t, c.Err(), `app.demo.metadata: "zone=a" must be a JSON text such as {"zone":"a"} (environment variable APP_DEMO_METADATA)`)
}

func TestLoad_NestedMetadataIsJoinedWithDots(t *testing.T) {
	d, _ := load(t, Sources{Text: "app.demo.metadata: {preserved: {heart: {beat: {interval: 5000}}}, zone: a}\n"})
	require.Equal(t, map[string]string{"preserved.heart.beat.interval": "5000", "zone": "a"}, d.Metadata)
}

func TestLoad_Durations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"250": 250 * time.Millisecond, "5s": 5 * time.Second, "1m30s": 90 * time.Second, "0": 0,
		"-1": 5 * time.Second, `""`: 5 * time.Second, "": 5 * time.Second, "~": 5 * time.Second, // not set
	} {
		d, c := load(t, Sources{Text: "app.demo.wait: " + text + "\n"})
		require.NoError(t, c.Err(), text)
		require.Equal(t, want, d.Wait, text)
	}
	_, c := load(t, Sources{Text: "app.demo.wait: 250\n"})
	require.Contains(t, notes(c), "durations without a unit are read as milliseconds [keys app.demo.wait]")
}

func TestLoad_Placeholders(t *testing.T) {
	t.Setenv("MY_HOME", "/home")
	t.Setenv("APP_REGION", "eu")
	d, c := load(t, Sources{
		Text: `
app:
  name: shop
  region: us
  demo:
    name: ${app.name}-${app.demo.nested.ipType}-${App.Region}
    port: ${app.port:70${digit}}
    list: ["${MY_HOME}", "${app.demo.wait}"]
    metadata: { Home: "${MY_HOME}", Copy: "${app.demo.metadata.Home}" }
    nested.ip-type: IPv${digit}
digit: 4
`,
		Properties: []Setting{set("password", "${app.name}")},
	})
	require.NoError(t, c.Err())
	require.Equal(t, "shop-IPv4-eu", d.Name, "the environment beats the document for every key")
	require.Equal(t, 704, d.Port)
	require.Equal(t, []string{"/home", "5s"}, d.List)
	require.Equal(t, map[string]string{"Home": "/home", "Copy": "/home"}, d.Metadata)
	require.Equal(t, "shop", d.Password)
}

func TestLoad_AKeyThatRefersToItself(t *testing.T) {
	_, c := load(t, Sources{Text: "app.demo: {name: '${app.demo.nested.ip-type}', nested: {ip-type: '${app.demo.name}'}}\n"})
	require.ErrorContains(t, c.Err(), "placeholders refer to each other: app.demo.name -> app.demo.nested.ip-type -> app.demo.name")
}

type validated struct {
	Port   int
	Secret string
	Inner  struct{ Wait time.Duration }
}

func (v *validated) Validate() error {
	return errors.Join(
		errors.New("port: must be above 10"), errors.New("secret: is too short"),
		fmt.Errorf("inner.wait: must be above %s", time.Second), errors.New("nothing fits"),
	)
}

func TestLoad_EveryMistakeAtOnceWithKeyValueAndOrigin(t *testing.T) {
	t.Setenv("APP_DEMO_WEIGHT", "heavy")
	d, v := defaults(), validated{Inner: struct{ Wait time.Duration }{time.Millisecond}}
	c, err := Load(Sources{
		Text: `app:
  demo:
    port: eighty
    on: maybe
    wait: 5 minutes
    metadata: [1]
    name: ${nowhere}
    catalog: { orders: [{ host: h, prot: 1 }, { port: x }] }
  strict:
    port: 5
    secret: hunter2
`,
		Properties: []Setting{set("nested", "x"), set("list", map[string]int{"a": 1})},
	}, Block{"app.demo", &d}, Block{"app.strict", &v})
	require.NoError(t, err)
	c.Problem("app.demo.password", "must be set")
	require.ElementsMatch(t, []string{
		`app.demo.nested: "x" is a block of keys, not a key (property)`,
		`app.demo.port: "eighty" must be a whole number (ConfigYAML:3)`,
		`app.demo.weight: "heavy" must be a number (environment variable APP_DEMO_WEIGHT)`,
		`app.demo.on: "maybe" must be true or false (ConfigYAML:4)`,
		`app.demo.wait: "5 minutes" must be a duration such as 500ms, 5s or 1m30s (ConfigYAML:5)`,
		`app.demo.list: "{a: 1}" must be a list (property)`,
		`app.demo.metadata: "1" must be a map of keys (ConfigYAML:6)`,
		`app.demo.name: "${nowhere}" placeholder ${nowhere} has no value: neither a key nor an environment variable, and no default as in ${nowhere:default} (ConfigYAML:7)`,
		`app.demo.catalog: "{orders: {host: h, prot: 1},{port: x}}" [orders][0]: has invalid keys: prot; [orders][1].port: must be a whole number (ConfigYAML:8)`,
		`app.strict.port: "5" must be above 10 (ConfigYAML:10)`,
		`app.strict.secret: "******" is too short (ConfigYAML:11)`,
		`app.strict.inner.wait: must be above 1s`,
		`app.strict: nothing fits`,
		`app.demo.password: must be set`,
	}, strings.Split(c.Err().Error(), "\n"))
	require.NotContains(t, c.Err().Error(), "hunter2")
}

func TestLoad_NumbersThatDoNotFit(t *testing.T) {
	_, c := load(t, Sources{Text: "app.demo: {port: 99999999999999999999, wait: 9999999999999999}\n"})
	require.ErrorContains(t, c.Err(), `app.demo.port: "99999999999999999999" is out of range`)
	require.ErrorContains(t, c.Err(), `app.demo.wait: "9999999999999999" is out of range`)
}

func TestLoad_LeadingZerosAreDecimal(t *testing.T) {
	d, _ := load(t, Sources{Text: "app.demo.port: 0080\n"})
	require.Equal(t, 80, d.Port)
}

// A rule sees the default in the place of a value that could not be read; what it
// says of that would be a second message for one mistake.
func TestLoad_AMistakeIsToldOnce(t *testing.T) {
	_, c := load(t, Sources{Text: "app.demo.name: [a, b]\napp.demo.port: x\n"})
	c.Problem("app.demo.name", "must be set")
	c.Problem("app.demo.wait", "must be set")
	require.EqualError(t, c.Err(), `app.demo.name: "a,b" must be one value (ConfigYAML:1)
app.demo.port: "x" must be a whole number (ConfigYAML:2)
app.demo.wait: must be set`)
}

func TestLoad_Files(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, value string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte("app.demo.name: "+value+"\n"), 0o644))
	}

	d, c := load(t, Sources{})
	require.Equal(t, "def", d.Name)
	require.Equal(t, []string{"no configuration file, defaults and environment apply [searched application.yaml or application.yml in . and config]"}, notes(c))

	write("config/application.yml", "folder")
	d, c = load(t, Sources{})
	require.Equal(t, "folder", d.Name)
	require.Equal(t, "config/application.yml", c.File)

	write("application.yaml", "here")
	d, c = load(t, Sources{})
	require.Equal(t, "here", d.Name)
	require.Contains(t, notes(c), "configuration file ignored, another one was read [file config/application.yml read application.yaml]")

	write("other.yaml", "env")
	t.Setenv(EnvFile, "other.yaml")
	d, _ = load(t, Sources{})
	require.Equal(t, "env", d.Name)

	write("named.yaml", "named")
	d, _ = load(t, Sources{File: "named.yaml"})
	require.Equal(t, "named", d.Name)

	_, err := Load(Sources{File: "missing.yaml"})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "missing.yaml")
}

func TestLoad_BlocksMaySharePrefixes(t *testing.T) {
	type half struct{ Name string }
	a, b := half{"x"}, demo{}
	c, err := Load(Sources{Text: "app.demo: {name: n, port: 2}\n"}, Block{"app.demo", &a}, Block{"app.demo", &b})
	require.NoError(t, err)
	require.NoError(t, c.Err())
	require.Equal(t, "n", a.Name)
	require.Equal(t, "n", b.Name)
	require.Equal(t, 2, b.Port)
}

func TestLoad_ATargetThatIsNoStruct(t *testing.T) {
	text := "x"
	_, err := Load(Sources{}, Block{"app", &text})
	require.ErrorContains(t, err, `properties of "app" are a *string, want a struct`)
}
