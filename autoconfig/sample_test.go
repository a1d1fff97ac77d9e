package autoconfig

import (
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
)

const sample = "../configs/application.yaml"

// The sample is the reference of the keys: it has all of them and nothing else,
// each with its default.
func TestSample_HasEveryKeyWithItsDefault(t *testing.T) {
	var defaults, configured boot
	settingsOf(&defaults)
	read := settingsOf(&configured)
	loaded, err := config.Load(config.Sources{File: sample, Owned: []string{"cloud"}}, configured.blocks...)
	require.NoError(t, err)
	require.NoError(t, loaded.Err())
	for _, note := range loaded.Notes {
		require.Equal(t, slog.LevelInfo, note.Level, "%v", note)
	}
	require.Equal(t, "order-service", read.application.Name)
	read.application.Name = ""

	var tree map[string]any
	text, err := os.ReadFile(sample)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &tree))
	for i, block := range configured.blocks {
		require.Empty(t, cmp.Diff(defaults.blocks[i].Target, block.Target, cmpopts.EquateEmpty()))
		requireKeys(t, tree, block.Prefix, reflect.TypeOf(block.Target).Elem())
	}
}

// requireKeys finds each field of a block in the document.
func requireKeys(t *testing.T, tree map[string]any, prefix string, typ reflect.Type) {
	t.Helper()
	for i := range typ.NumField() {
		f := typ.Field(i)
		key := prefix + "." + f.Tag.Get("mapstructure")
		if f.Type.Kind() == reflect.Struct {
			requireKeys(t, tree, key, f.Type)
			continue
		}
		var at any = tree
		for name := range strings.SplitSeq(key, ".") {
			m, _ := at.(map[string]any)
			var ok bool
			at, ok = m[name]
			require.True(t, ok, "the sample lacks %s", key)
		}
	}
}

func TestSample_IsAnApplicationThatCanBeBuilt(t *testing.T) {
	assembled(t, ConfigFile(sample))
}
