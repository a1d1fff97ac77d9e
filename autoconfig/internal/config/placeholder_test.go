package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func expandWith(table map[string]string, text string) (string, error) {
	e := expander{
		fold: uniformPath,
		lookup: func(name string) (string, bool, error) {
			v, ok := table[uniformPath(name)]
			return v, ok, nil
		},
	}
	return e.expand(text)
}

func TestPlaceholders(t *testing.T) {
	table := map[string]string{
		"a": "1", "b": "${a}2", "app.name": "shop", "which": "a", "empty": "",
		"loop": "x${pool}", "pool": "${loop}", "self": "${self}",
		"literal": `\${a}`,
	}
	for _, c := range []struct{ name, text, want, err string }{
		{"none", "plain $ { } text", "plain $ { } text", ""},
		{"one", "${a}", "1", ""},
		{"within text", "<${a}-${a}>", "<1-1>", ""},
		{"a value with placeholders", "${b}", "12", ""},
		{"any spelling", "${App.NAME}", "shop", ""},
		{"default unused", "${a:9}", "1", ""},
		{"default", "${x:9}", "9", ""},
		{"empty default", "${x:}", "", ""},
		{"default with a colon", "${x:http://h:80/p}", "http://h:80/p", ""},
		{"default with a placeholder", "${x:${y:${a}}}", "1", ""},
		{"name with a placeholder", "${${which}}", "1", ""},
		{"name with a default inside", "${${nothing:a}}", "1", ""},
		{"spaces around the name", "${ a }", "1", ""},
		{"escaped", `\${a} ${a}`, "${a} 1", ""},
		{"escaped in a value", "${literal}", "${a}", ""},
		{"unknown", "${nowhere}", "", "placeholder ${nowhere} has no value"},
		{"not closed", "${a", "", "has no closing brace"},
		{"not closed inside", "${a:${b}", "", "has no closing brace"},
		{"itself", "${self}", "", "placeholders refer to each other: self -> self"},
		{"a circle", "${loop}", "", "placeholders refer to each other: loop -> pool -> loop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := expandWith(table, c.text)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestPlaceholders_DoublingIsBounded(t *testing.T) {
	table := map[string]string{"n0": strings.Repeat("x", 1000)}
	for i, name := range []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11", "n12"} {
		below := "${n" + string(rune('0'+i%10)) + "}"
		if i == 10 {
			below = "${n10}"
		}
		if i == 11 {
			below = "${n11}"
		}
		table[name] = strings.Repeat(below, 10)
	}
	_, err := expandWith(table, "${n9}")
	require.Error(t, err)
}

// Text without the two characters that mean something comes back as it is, and
// a placeholder around it gives the same.
func TestPlaceholders_PlainTextIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[^$\\{}]*`).Draw(t, "text")
		got, err := expandWith(nil, text)
		require.NoError(t, err)
		require.Equal(t, text, got)
		got, err = expandWith(map[string]string{"v": text}, "${v}")
		require.NoError(t, err)
		require.Equal(t, text, got)
		got, err = expandWith(nil, "<${none:"+text+"}>")
		require.NoError(t, err)
		require.Equal(t, "<"+text+">", got)
	})
}

func FuzzPlaceholders(f *testing.F) {
	for _, seed := range []string{"", "${a}", "${a:${b}}", "${${c}}", `\${a}`, "${", "${:}", "${a:}}", "}${b", "${d}${d}"} {
		f.Add(seed)
	}
	table := map[string]string{"a": "1", "b": "${a}", "c": "a", "d": "${d}", "e": "${b}${b}"}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := expandWith(table, text)
		if err != nil {
			require.Empty(t, got)
			return
		}
		if !strings.Contains(text, "${") {
			require.Equal(t, text, got)
		}
	})
}

func TestPlaceholders_AMessageHoldsNothingOfASecret(t *testing.T) {
	for _, text := range []string{"pw${hunter2", "pw${hunter2}", "${X:hunter2"} {
		e := expander{
			fold: uniformPath, open: []string{"cloud.nacos.password"},
			lookup: func(string) (string, bool, error) { return "", false, nil },
		}
		_, err := e.expand(text)
		require.ErrorContains(t, err, "placeholder")
		require.NotContains(t, err.Error(), "hunter2")
	}
}
