package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// What a client registered must not act on the terminal of who lists it.
func TestPrintable_NothingActsOnATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain":             "plain",
		"größe 名":           "größe 名",
		"\x1b[2J\x1b]0;x\a": `\u001b[2J\u001b]0;x\u0007`,
		"a\nb\tc":           `a\u000ab\u0009c`,
		"abc\u202edef":      `abc\u202edef`,
		"\u009b31m":         `\u009b31m`,
	} {
		require.Equal(t, want, printable(text))
	}
}

func table(t *testing.T, colour bool) string {
	t.Helper()
	var b bytes.Buffer
	p := &printer{&b, formatTable, colour}
	rows := []row{{plain("ä"), cell{"bad", red}, plain("x")}, {plain("longer"), cell{"good!", green}, plain("")}}
	require.NoError(t, p.list(nil, []string{"A", "B", "C"}, slices.Values(rows)))
	return b.String()
}

func TestList_IsAlignedWithAndWithoutColour(t *testing.T) {
	require.Equal(t, "A       B      C\nä       bad    x\nlonger  good!  \n", table(t, false))
	require.Equal(t, "\x1b[1mA\x1b[0m       \x1b[1mB\x1b[0m      \x1b[1mC\x1b[0m\n"+
		"ä       \x1b[31mbad\x1b[0m    x\nlonger  \x1b[32mgood!\x1b[0m  \n", table(t, true))
}

func TestDocument_JSONAndYAMLSayTheSame(t *testing.T) {
	value := []instance{{IP: "127.0.0.1", Port: 8080, Weight: 1.5, Metadata: map[string]string{
		"yes": "true", "version": "1.10", "empty": "", "html": "<b>&", "colon": "a: b", "line": "a\nb", "number": "007",
	}}}
	for _, f := range []format{formatJSON, formatYAML} {
		var b bytes.Buffer
		require.NoError(t, (&printer{&b, f, true}).document(value))
		require.NotContains(t, b.String(), "\x1b")
		var back []map[string]any
		if f == formatJSON {
			require.NoError(t, json.Unmarshal(b.Bytes(), &back))
		} else {
			require.NoError(t, yaml.Unmarshal(b.Bytes(), &back))
		}
		require.Equal(t, map[string]any{
			"yes": "true", "version": "1.10", "empty": "", "html": "<b>&", "colon": "a: b", "line": "a\nb", "number": "007",
		}, back[0]["metadata"], f)
		require.EqualValues(t, 8080, back[0]["port"])
	}
}

func TestFormat_IsOneOfThree(t *testing.T) {
	var f format
	require.NoError(t, f.Set("json"))
	require.Equal(t, formatJSON, f)
	require.EqualError(t, f.Set("xml"), "must be table, json, yaml")
}

func fixed() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func TestChanges(t *testing.T) {
	at := func(port int, change func(*registry.Instance)) registry.Instance {
		i := registry.NewInstance(registry.ServiceID{Name: "s"}, "127.0.0.1", port)
		if change != nil {
			change(&i)
		}
		return i
	}
	var b bytes.Buffer
	w := &watcher{printer: &printer{&b, formatTable, false}, now: fixed, failed: make(chan error, 1)}
	see := func(all ...registry.Instance) string {
		b.Reset()
		w.see(&discovery.Snapshot{Instances: all})
		return b.String()
	}
	const now = "2026-01-02T03:04:05Z "
	require.Equal(t, now+"+ 127.0.0.1:1 DEFAULT healthy\n"+now+"+ 127.0.0.1:2 DEFAULT healthy a=b\n",
		see(at(2, func(i *registry.Instance) { i.Metadata = map[string]string{"a": "b"} }), at(1, nil)))
	require.Empty(t, see(at(1, nil), at(2, func(i *registry.Instance) { i.Metadata = map[string]string{"a": "b"} })))
	require.Equal(t, now+"- 127.0.0.1:1 DEFAULT\n"+now+"~ 127.0.0.1:2 DEFAULT health healthy → unhealthy, weight 1 → 2, metadata a=b → none\n",
		see(at(2, func(i *registry.Instance) { i.Healthy, i.Weight = false, 2 })))
}

// A request that may take longer may connect longer.
func TestConnection_TimeToConnect(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, 10 * time.Second: 3 * time.Second, time.Minute: 15 * time.Second,
	} {
		opts, err := (&connection{servers: []string{"127.0.0.1:1"}, timeout: timeout}).options("TEST_NONE_")
		require.NoError(t, err)
		require.Equal(t, timeout, opts.RequestTimeout)
		require.Equal(t, want, opts.ConnectTimeout)
	}
}
