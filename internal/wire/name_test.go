package wire

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestSB04_ServiceNames(t *testing.T) {
	for _, c := range []struct{ service, group, want string }{
		{"pay", "", "DEFAULT_GROUP@@pay"},
		{"pay", "  ", "DEFAULT_GROUP@@pay"},
		{"pay", "G1", "G1@@pay"},
		{" pay ", " G1 ", "G1@@pay"},
		{"G1@@pay", "G2", "G1@@pay"},
		{"G1@@pay", "   ", "G1@@pay"},
		{"c@d", "a@b", "a@b@@c@d"},
		{"providers:com.example.Api:1.0:", "G", "G@@providers:com.example.Api:1.0:"},
	} {
		got, err := ParseServiceName(c.service, c.group)
		require.NoError(t, err, "%q %q", c.service, c.group)
		require.Equal(t, c.want, got.String())
	}
	for _, c := range []struct{ service, group, why string }{
		{"", "G", "Param 'serviceName' is required."},
		{"  ", "G", "Param 'serviceName' is required."},
		{"@@pay", "", "Param 'serviceName' is illegal, it should be format as 'groupName@@serviceName'"},
		{"G1@@", "", "it should be format as"},
		{"@@", "", "it should be format as"},
		{"A@@B@@C", "", "it should be format as"},
		{"@n", "@g@", "it should be format as"},
		{"n", "g@", "it should be format as"},
		{"@n", "g", "it should be format as"},
		{"n", "a@@b", "it should be format as"},
		{"a/b", "", "dom name can only have these characters: 0-9a-zA-Z-._:, current: DEFAULT_GROUP@@a/b"},
		{"a", "b c", "dom name can only have these characters"},
		{"ä", "", "dom name can only have these characters"},
		{"a$", "", "dom name can only have these characters"},
	} {
		_, err := ParseServiceName(c.service, c.group)
		requireBadRequest(t, err, c.why)
	}
}

func TestSB04_GroupsByThemselves(t *testing.T) {
	for text, want := range map[string]string{"": DefaultGroup, "  ": DefaultGroup, " G ": "G", "a@b": "a@b", "@a": "@a"} {
		got, err := ParseGroup(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"a@", "a@@b", "@@", "@", "a b", "a/b", "*"} {
		_, err := ParseGroup(text)
		requireBadRequest(t, err, "Param 'groupName' is illegal: "+text)
	}
}

func FuzzParseServiceName(f *testing.F) {
	for _, seed := range [][2]string{{"pay", "G"}, {"G@@pay", ""}, {"@n", "g@"}, {"a@b", "c@d"}, {"A@@B@@C", " "}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, service, group string) {
		name, err := ParseServiceName(service, group)
		if err != nil {
			requireBadRequest(t, err, "")
			return
		}
		require.NotEmpty(t, name.Group)
		require.NotEmpty(t, name.Name)
		require.Equal(t, 1, strings.Count(name.String(), GroupSeparator))
		again, err := ParseServiceName(name.String(), "ignored")
		require.NoError(t, err)
		require.Equal(t, name, again, "a grouped name has one reading")
	})
}

func TestExcerpt(t *testing.T) {
	require.Equal(t, "short", Excerpt("short"))
	long := Excerpt(strings.Repeat("ä", 200))
	require.Less(t, len(long), 140)
	require.True(t, utf8.ValidString(long))
	require.True(t, strings.HasSuffix(long, "…"))
}

func TestRefusef_IsOfItsKindAndABadRequest(t *testing.T) {
	kind, other := errors.New("kind"), errors.New("other")
	err := Refusef(kind, "no %s here", "x")
	require.EqualError(t, err, "no x here")
	require.ErrorIs(t, err, kind)
	require.NotErrorIs(t, err, other)
	var bad BadRequest
	require.ErrorAs(t, err, &bad)
	require.Equal(t, BadRequest("no x here"), bad)
}
