package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// comments are what the Go source says of the fields of its structs.
type comments struct {
	t    *testing.T
	dirs map[string]map[string]map[string]string // package → struct → field → comment
}

func newComments(t *testing.T) *comments {
	t.Helper()
	return &comments{t, map[string]map[string]map[string]string{}}
}

const modulePath = "github.com/rollcall-go/rollcall/"

// field is the comment of a field as one line of a table, in the words of the
// configuration.
func (c *comments) field(owner reflect.Type, f reflect.StructField) string {
	c.t.Helper()
	text := c.raw(owner, f.Name)
	require.NotEmpty(c.t, text, "%s.%s has no comment", owner, f.Name)
	return inWordsOfTheFile(owner, text)
}

// switchText is the comment of a block that can only be switched: that of its
// key, or the block's own where the key's says only that it is a switch.
func (c *comments) switchText(owner reflect.Type, f reflect.StructField) string {
	c.t.Helper()
	own := c.field(f.Type, f.Type.Field(0))
	if own == "`enabled` is false." || own == "`enabled` is true." || own == "`enabled` switches the thing on." {
		return c.field(owner, f)
	}
	return own
}

func (c *comments) raw(owner reflect.Type, field string) string {
	c.t.Helper()
	dir, ok := strings.CutPrefix(owner.PkgPath(), modulePath)
	require.True(c.t, ok, owner.PkgPath())
	if c.dirs[dir] == nil {
		c.dirs[dir] = structComments(c.t, filepath.Join("..", filepath.FromSlash(dir)))
	}
	return c.dirs[dir][owner.Name()][field]
}

// structComments reads the comments of all fields of a package's structs. A
// comment that begins with the names of several fields is that of each of them.
func structComments(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	found := map[string]map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				found[spec.Name.Name] = fieldComments(s)
			}
			return false
		})
	}
	return found
}

func fieldComments(s *ast.StructType) map[string]string {
	fields := map[string]string{}
	last := ""
	for _, f := range s.Fields.List {
		text := strings.Join(strings.Fields(f.Doc.Text()), " ")
		for _, name := range f.Names {
			switch {
			case text != "":
				last, fields[name.Name] = text, text
			case regexp.MustCompile(`\b` + name.Name + `\b`).MatchString(last):
				fields[name.Name] = last
			}
		}
	}
	return fields
}

var (
	link = regexp.MustCompile(`\[([A-Z][\w.]*)\]`)
	word = regexp.MustCompile(`\b[A-Z]\w*\b`)
	hump = regexp.MustCompile(`[a-z][A-Z]|[A-Z]{2}[a-z]`)
)

// inWordsOfTheFile names fields as the configuration does: at the beginning of
// a comment, and wherever a name cannot be the first word of a sentence.
func inWordsOfTheFile(owner reflect.Type, text string) string {
	keys := map[string]string{}
	for i := range owner.NumField() {
		f := owner.Field(i)
		keys[f.Name] = f.Tag.Get("mapstructure")
	}
	text = link.ReplaceAllString(text, "$1")
	end := 0 // of the names that the comment begins with
	for _, at := range word.FindAllStringIndex(text, -1) {
		between := strings.Trim(text[end:at[0]], " ,")
		if keys[text[at[0]:at[1]]] == "" || between != "" && between != "and" {
			break
		}
		end = at[1]
	}
	var out strings.Builder
	done := 0
	for _, at := range word.FindAllStringIndex(text, -1) {
		name := text[at[0]:at[1]]
		inSentence := !strings.HasSuffix(strings.TrimSpace(text[:at[0]]), ".")
		if key := keys[name]; key != "" && (at[1] <= end || hump.MatchString(name) || at[0] > 0 && inSentence) {
			out.WriteString(text[done:at[0]] + "`" + key + "`")
			done = at[1]
		}
	}
	out.WriteString(text[done:])
	return strings.ReplaceAll(out.String(), "|", `\|`)
}
