package state

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// unplain is what encoding/json makes of an instance, nil if it is none.
func unplain(text []byte) *Instance {
	var i Instance
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&i) != nil || d.More() {
		return nil
	}
	return &i
}

func TestPlain_ReadsWhatIsWritten(t *testing.T) {
	for name, c := range map[string]struct {
		change func(i *Instance)
		plain  bool
	}{
		"all of it":       {func(i *Instance) { i.App, i.Metadata = "shop", map[string]string{"a": "1", "b": ""} }, true},
		"little":          {func(i *Instance) { i.Metadata = nil }, true},
		"another script":  {func(i *Instance) { i.Metadata = map[string]string{"负责人": "张三"} }, true},
		"a small weight":  {func(i *Instance) { i.Weight = 0.25 }, true},
		"a tiny weight":   {func(i *Instance) { i.Weight = 1e-9 }, false},
		"an escape":       {func(i *Instance) { i.Metadata = map[string]string{"a": "say \"x\""} }, false},
		"a line's end":    {func(i *Instance) { i.App = "a\u2028b" }, false},
		"a negative port": {func(i *Instance) { i.Port = -1 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			want := instance("orders", "192.0.2.1", 80)
			c.change(&want)
			text, err := wire.Marshal(want)
			require.NoError(t, err)
			var got Instance
			p := plain{rest: text}
			p.instance(&got)
			require.Equal(t, c.plain, p.done())
			if c.plain {
				require.Equal(t, want, got)
			}
			command, err := Encode(&RegisterInstance{Instance: want})
			if err == nil {
				decoded, err := decode(command)
				require.NoError(t, err)
				require.Equal(t, &RegisterInstance{Instance: want}, decoded)
			}
		})
	}
}

// TestPlain_IsTheFormOnDisk: a member that is added to Instance, or moved, must be
// read here, too, or every start is slow.
func TestPlain_IsTheFormOnDisk(t *testing.T) {
	everything := Instance{
		Service:     wire.ServiceKey{Namespace: "n", ServiceName: wire.ServiceName{Group: "g", Name: "s"}},
		InstanceKey: InstanceKey{Cluster: "c", IP: "i", Port: 1}, ID: "id", Weight: 1, Enabled: true, Healthy: true,
		Metadata: map[string]string{"k": "v"}, App: "a",
	}
	text, err := wire.Marshal(everything)
	require.NoError(t, err)
	require.NotContains(t, string(text), `""`)
	var got Instance
	p := plain{rest: text, shared: map[string]string{}}
	p.instance(&got)
	require.True(t, p.done(), string(text))
	require.Equal(t, everything, got)
}

// FuzzPlain: what is read here is what encoding/json reads, or left to it.
func FuzzPlain(f *testing.F) {
	i := instance("orders", "192.0.2.1", 80)
	i.App, i.Metadata = "shop", map[string]string{"a": "1", "b": "ü"}
	text, err := wire.Marshal(i)
	require.NoError(f, err)
	f.Add(text)
	for _, change := range [][2]string{
		{`"port":80`, `"port":080`},
		{`"port":80`, `"port":8.0`},
		{`"weight":1`, `"weight":01.5`},
		{`"weight":1`, `"weight":1.`},
		{`"shop"`, "\"\xff\""},
		{`"a":"1"`, `"b":"1"`},
		{`true`, `1`},
		{`}}`, `},"more":1}`},
	} {
		f.Add([]byte(strings.Replace(string(text), change[0], change[1], 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got Instance
		p := plain{rest: text, shared: map[string]string{}}
		p.instance(&got)
		if p.done() {
			require.Equal(t, unplain(text), &got)
		}
	})
}
