package config

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLoad_UnknownKeysAreNotesWithTheNearestName(t *testing.T) {
	_, c := load(t, Sources{
		Text:       "mine: 1\napp: {other: 2, demo: {prot: 1, nested: {iptypes: 2}, ipType: x, zzz: 3, metdata: {a: 1}, nestd: {b: 2}}}\n",
		Properties: []Setting{set("nmae", "x")},
	})
	require.NoError(t, c.Err())
	require.Equal(t, []string{
		"configuration read [from ConfigYAML]",
		"unknown configuration key, it has no effect [key app.demo.prot at ConfigYAML:2 nearest app.demo.port]",
		"unknown configuration key, it has no effect [key app.demo.nested.iptypes at ConfigYAML:2 nearest app.demo.nested.ip-type]",
		"unknown configuration key, it has no effect [key app.demo.ipType at ConfigYAML:2 nearest app.demo.nested.ip-type]",
		"unknown configuration key, it has no effect [key app.demo.zzz at ConfigYAML:2]",
		"unknown configuration key, it has no effect [key app.demo.metdata at ConfigYAML:2 nearest app.demo.metadata]",
		"unknown configuration key, it has no effect [key app.demo.nestd at ConfigYAML:2 nearest app.demo.nested]",
		"unknown configuration key, it has no effect [key app.demo.nmae at property nearest app.demo.name]",
	}, notes(c))
}

func TestLoad_VariablesThatAreNearlyOnesOfAKeyAreNotes(t *testing.T) {
	t.Setenv("APP_DEMO_NESTED_IPTYPE", "x")  // as Spring would have it
	t.Setenv("APP_DEMO_PROT", "1")           // two letters changed places
	t.Setenv("APP_DEMO_NAMES", "x")          // one too many
	t.Setenv("APP_DEMO_PORT", "7")           // right
	t.Setenv("APP_DEMO_PORT_8080_TCP", "x")  // somebody else's
	t.Setenv("APP_DEMO_NESTED_IPTYPES", "")  // empty is not set
	t.Setenv("APP_DEMO_SERVICE_HOST", "1.2") // somebody else's
	d, c := load(t, Sources{Text: "{}"})
	require.NoError(t, c.Err())
	require.Equal(t, 7, d.Port)
	require.Equal(t, []string{
		"configuration read [from ConfigYAML]",
		"environment variable is that of no key, it has no effect [name APP_DEMO_NAMES nearest APP_DEMO_NAME]",
		"environment variable is that of no key, it has no effect [name APP_DEMO_NESTED_IPTYPE nearest APP_DEMO_NESTED_IP_TYPE]",
		"environment variable is that of no key, it has no effect [name APP_DEMO_PROT nearest APP_DEMO_PORT]",
	}, notes(c))
}

func TestLoad_VariablesOfEntriesAndOfSpringAreNotes(t *testing.T) {
	t.Setenv("APP_DEMO_METADATA_ZONE", "a")
	t.Setenv("SPRING_APP_DEMO_METADATA_ZONE", "a")
	t.Setenv("APP_DEMO_METADATAZONE", "a") // somebody else's
	t.Setenv("APP_DEMO_NAME_WEB", "debug")
	t.Setenv("SPRING_PROFILES_ACTIVE", "prod")
	t.Setenv("PROFILES_ACTIVE", "prod") // somebody else's
	t.Setenv("OLD_LONGNAME", "x")       // a slip in the name it has there
	_, c := load(t, Sources{
		Text:    "{}",
		Aliases: map[string]Alias{"old.long-name": {Key: "app.demo.name"}},
		Foreign: map[string]string{"app.demo.name.*": "app.demo.metadata", "spring.profiles": "ROLLCALL_CONFIG"},
	})
	require.NoError(t, c.Err())
	require.Equal(t, []string{
		"configuration read [from ConfigYAML]",
		"environment variable is that of no key, it has no effect [name APP_DEMO_METADATA_ZONE use APP_DEMO_METADATA, which is the whole map as JSON]",
		"environment variable is that of no key, it has no effect [name APP_DEMO_NAME_WEB use APP_DEMO_METADATA, which is the whole map as JSON]",
		"environment variable is that of no key, it has no effect [name OLD_LONGNAME nearest OLD_LONG_NAME]",
		"environment variable is that of no key, it has no effect [name SPRING_APP_DEMO_METADATA_ZONE use APP_DEMO_METADATA, which is the whole map as JSON]",
		"environment variable is that of no key, it has no effect [name SPRING_PROFILES_ACTIVE use ROLLCALL_CONFIG]",
	}, notes(c))
}

// What stands below spring: is Spring's, so that nothing there is without an effect
// in silence, whatever a user's own keys are called.
func TestLoad_KeysBelowSpringThatNothingReadsAreNotes(t *testing.T) {
	_, c := load(t, Sources{
		Text: `
profiles: { mine: 1 }
config: mine
main: mine
spring:
  profiles: { active: dev }
  datasource: { url: x, password: y }
  main: { banner-mode: off, kind: none }
  app: { demo: { name: x } }
spring.jackson.date-format: x
spring.profiles.include: y
`,
		Foreign: map[string]string{"spring.profiles": "ROLLCALL_CONFIG", "main.kind": "app.demo.port"},
	})
	require.NoError(t, c.Err())
	require.Equal(t, []string{
		"configuration read [from ConfigYAML]",
		"keys below spring: are read as if the prefix were not there [at ConfigYAML:11]",
		"configuration key of another program, it has no effect [key profiles at ConfigYAML:6 use ROLLCALL_CONFIG]",
		"configuration key of another program, it has no effect [key main.kind at ConfigYAML:8 use app.demo.port]",
		"configuration key of another program, it has no effect [key profiles.include at ConfigYAML:11 use ROLLCALL_CONFIG]",
		"unknown configuration key, it has no effect [key datasource at ConfigYAML:7]",
		"unknown configuration key, it has no effect [key main.banner-mode at ConfigYAML:8]",
		"unknown configuration key, it has no effect [key jackson.date-format at ConfigYAML:10]",
	}, notes(c))
}

// A block of another program is named below a user's own name as well, and so is
// what stands below a key of ours that it has as a block.
func TestLoad_KeysOfAnotherProgramBelowNames(t *testing.T) {
	d, c := load(t, Sources{
		Text: `
user-service: { ribbon: { ReadTimeout: 1 }, mine: 2 }
order-service.ribbon.ReadTimeout: 1
mine: { deep: { ribbon: 1 } }
app.demo: { name: { root: warn, web: debug, com.example: info } }
`,
		Properties: []Setting{set("name.org", "x")},
		Foreign:    map[string]string{"*.ribbon": "clients", "app.demo.name.*": "app.demo.metadata"},
		Aliases:    map[string]Alias{"app.demo.name.root": {Key: "app.demo.name"}},
	})
	require.NoError(t, c.Err())
	require.Equal(t, "warn", d.Name)
	require.Equal(t, []string{
		"configuration read [from ConfigYAML]",
		"configuration key of another program, it is read as ours [key app.demo.name.root at ConfigYAML:5 as app.demo.name]",
		"configuration key of another program, it has no effect [key user-service.ribbon at ConfigYAML:2 use clients]",
		"configuration key of another program, it has no effect [key order-service.ribbon.ReadTimeout at ConfigYAML:3 use clients]",
		"configuration key of another program, it has no effect [key app.demo.name.web at ConfigYAML:5 use app.demo.metadata]",
		"configuration key of another program, it has no effect [key app.demo.name.com.example at ConfigYAML:5 use app.demo.metadata]",
		"configuration key of another program, it has no effect [key app.demo.name.org at property use app.demo.metadata]",
	}, notes(c))
}

func TestLoad_FilesOfSpringAreNotes(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("config", 0o700))
	for _, name := range []string{"bootstrap.yml", "application.properties", "config/bootstrap.yaml"} {
		require.NoError(t, os.WriteFile(name, []byte("{"), 0o600))
	}
	_, c := load(t, Sources{})
	require.NoError(t, c.Err())
	require.Equal(t, []string{
		"no configuration file, defaults and environment apply [searched application.yaml or application.yml in . and config]",
		"configuration file of another program, it is not read [file bootstrap.yml use application.yaml]",
		"configuration file of another program, it is not read [file application.properties use application.yaml]",
		"configuration file of another program, it is not read [file config/bootstrap.yaml use application.yaml]",
	}, notes(c))
}

// A name that happens to end a key somewhere else is no hint.
func TestLoad_TheNearestNameIsInTheSameBlock(t *testing.T) {
	require.Equal(t, "management.server.port", nearest("management.port", []string{"management.server.port", "server.port"}))
	require.Empty(t, nearest("logging.file.name", []string{"application.name", "logging.level"}))
}

func TestLoad_SpringDocumentsAreReadAndSaidSo(t *testing.T) {
	d, c := load(t, Sources{Text: "spring: {app: {demo: {name: s}}}\n"})
	require.Equal(t, "s", d.Name)
	require.Contains(t, notes(c), "keys below spring: are read as if the prefix were not there [at ConfigYAML:1]")
}

func notes(c *Config) []string {
	texts := make([]string, len(c.Notes))
	for i, n := range c.Notes {
		texts[i] = n.Text
		if n.Args != nil {
			texts[i] += " " + fmt.Sprint(n.Args)
		}
	}
	return texts
}

// What an application of Spring is started with is read like its document.
func TestLoad_VariablesOfSpringAreReadAndSaidSo(t *testing.T) {
	t.Setenv("SPRING_APP_DEMO_NAME", "spring's")
	t.Setenv("SPRING_APP_DEMO_WEIGHT", "3")
	t.Setenv("APP_DEMO_WEIGHT", "4") // ours goes first
	t.Setenv("SPRING_OLD_WAIT", "5") // under the name it has there
	t.Setenv("SPRING_APP_DEMO_NESTED_IPTYPE", "x")
	t.Setenv("SPRING_PROFILES_ACTIVE", "prod")
	d, c := load(t, Sources{
		Text:    "app.demo.name: the file's",
		Aliases: map[string]Alias{"old.wait": {Key: "app.demo.wait", Unit: "s"}},
	})
	require.NoError(t, c.Err())
	require.Equal(t, "spring's", d.Name)
	require.InDelta(t, 4, d.Weight, 0)
	require.Equal(t, 5*time.Second, d.Wait)
	require.Equal(t, []string{
		"configuration read [from ConfigYAML]",
		"environment variable is that of no key, it has no effect [name SPRING_APP_DEMO_NESTED_IPTYPE nearest APP_DEMO_NESTED_IP_TYPE]",
		"environment variables with SPRING_ in front are read as if that were not there [names SPRING_APP_DEMO_NAME, SPRING_APP_DEMO_WEIGHT, SPRING_OLD_WAIT]",
	}, notes(c))
	for _, e := range c.Effective() {
		if e.Key == "app.demo.wait" {
			require.Equal(t, "environment variable SPRING_OLD_WAIT", e.Origin)
		}
	}
}

func TestLoad_KeysOfAnotherProgramAreNamedWithOurs(t *testing.T) {
	d := defaults()
	c, err := Load(Sources{
		Text: `
spring: { life: { timeout: 5 } }
ribbon: { ReadTimeout: 1, ConnectTimeout: 2 }
app.demo:
  servlet: { name: x, other: y }
  name: { root: info }
  port: 2
liferaft: { timeout: '${ribbon.ReadTimeout}' }
`,
		Foreign: map[string]string{"life.timeout": "app.demo.wait", "ribbon": "", "app.demo.servlet.name": "app.demo.name", "app.demo.name.root": "app.demo.name"},
	}, Block{"app.demo", &d})
	require.NoError(t, err)
	require.NoError(t, c.Err())
	require.Equal(t, "def", d.Name)
	require.Equal(t, 2, d.Port)
	require.Equal(t, []string{
		"configuration read [from ConfigYAML]",
		"keys below spring: are read as if the prefix were not there [at ConfigYAML:2]",
		"configuration key of another program, it has no effect [key life.timeout at ConfigYAML:2 use app.demo.wait]",
		"configuration key of another program, it has no effect [key ribbon at ConfigYAML:3]",
		"configuration key of another program, it has no effect [key app.demo.servlet.name at ConfigYAML:5 use app.demo.name]",
		"configuration key of another program, it has no effect [key app.demo.name.root at ConfigYAML:6 use app.demo.name]",
		"unknown configuration key, it has no effect [key app.demo.servlet.other at ConfigYAML:5]",
	}, notes(c))

	c, err = Load(Sources{
		Text:    "ribbon.ReadTimeout: 1\napp.demo.servlet: 5\nlife: 6\n",
		Foreign: map[string]string{"ribbon": "", "app.demo.servlet.name": "", "life.timeout": ""},
	}, Block{"app.demo", &d})
	require.NoError(t, err)
	require.NoError(t, c.Err())
	require.Contains(t, notes(c), "configuration key of another program, it has no effect [key ribbon.ReadTimeout at ConfigYAML:1]")
	require.Contains(t, notes(c), "unknown configuration key, it has no effect [key app.demo.servlet at ConfigYAML:2]")

	c, err = Load(Sources{
		Text: "{}", Foreign: map[string]string{"app.demo.servlet.name": "app.demo.name"},
		Properties: []Setting{set("servlet.name", "x"), set("servlet", "y")},
	}, Block{"app.demo", &d})
	require.NoError(t, err)
	require.NoError(t, c.Err())
	require.Contains(t, notes(c), "configuration key of another program, it has no effect [key app.demo.servlet.name at property use app.demo.name]")
	require.Contains(t, notes(c), "unknown configuration key, it has no effect [key app.demo.servlet at property]")
}
