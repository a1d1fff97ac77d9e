package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/viper"
)

// Sources says where values come from, weakest first: the defaults in the
// blocks, Defaults, the document, the environment, Properties.
type Sources struct {
	// File is the document's path; "" searches.
	File string
	// Text is the document itself and takes the place of a file.
	Text string
	// Defaults come from code and are weaker than the document.
	Defaults []Setting
	// Properties come from code, such as command line flags, and beat all.
	Properties []Setting
	// Owned are prefixes below which unknown keys are reported, besides those of
	// the blocks.
	Owned []string
	// Computed are names for placeholders that stand for what is found out on this
	// machine, weaker than the environment and the document. The blocks before the
	// one that is being read are filled in when one is asked for; value returns the
	// text of any key.
	Computed map[string]Compute
	// Foreign are keys and blocks of programs that documents are taken over from,
	// each with our key for the same thing, "" when there is none. They get a
	// warning wherever they stand. "a.b.*" is what nothing reads below a.b, "*.a" the
	// block a below a name of the user's own, and "spring.a" is a below spring: alone.
	Foreign map[string]string
	// Aliases are keys of other programs that mean the same as one of ours, which
	// they are read as.
	Aliases map[string]Alias
	// Validate has rules, by prefix, that take the place of a block's own method.
	Validate map[string]func() error
}

// Alias says what a key of another program is read as.
type Alias struct {
	// Key is ours, in a block that is read.
	Key string
	// Unit is what a bare number stands for where that is not milliseconds, "s".
	Unit string
}

// Compute finds out what a placeholder stands for.
type Compute func(value func(key string) (string, error)) (string, error)

// Setting is one key with its value. A key may end inside a map
// ("cloud.nacos.discovery.metadata.zone").
type Setting struct {
	Key   string
	Value any
	// Origin says where the value was given, "" for the code itself.
	Origin string
}

// Block is a struct of settings below a prefix. Target points to it; it holds
// the defaults and receives what is configured. When it has a Validate method,
// each line of its error is one problem and begins with the key below the
// prefix and a colon.
type Block struct {
	Prefix string
	Target any
}

// Note is something worth a log line once there is a logger.
type Note struct {
	Level slog.Level
	Text  string
	Args  []any
}

// String is the note on one line.
func (n Note) String() string {
	var b strings.Builder
	b.WriteString(n.Text)
	for i := 0; i+1 < len(n.Args); i += 2 {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		fmt.Fprintf(&b, "%s%v %v", separator, n.Args[i], n.Args[i+1])
	}
	return b.String()
}

// Config is a configuration that was read. Its problems are collected, so that
// rules across blocks can add theirs before [Config.Err] tells all at once.
type Config struct {
	// File is the document that was read, "" when there was none.
	File string
	// Content is what File held when it was read.
	Content []byte
	// Notes are to be logged.
	Notes []Note

	schema   *schema
	doc      *document
	viper    *viper.Viper
	computed map[string]Compute
	problems []Problem
	bare     []string        // keys whose duration has no unit
	unread   map[string]bool // keys whose value is none of their kind
}

// untypable separates the segments of viper's own paths. No key contains it, so
// that to viper every key is one flat name, dots and all.
const untypable = "\x1f"

// Load reads the sources into the blocks. The error is about reading, such as a
// missing file or bad YAML; mistakes in values are in [Config.Err].
func Load(s Sources, blocks ...Block) (*Config, error) {
	c := &Config{
		schema: newSchema(), viper: viper.NewWithOptions(viper.KeyDelimiter(untypable)), computed: s.Computed,
		unread: map[string]bool{},
	}
	for _, prefix := range s.Owned {
		c.schema.own(prefix)
	}
	for _, b := range blocks {
		if err := c.schema.addBlock(b.Prefix, b.Target); err != nil {
			return nil, err
		}
	}
	for key, use := range s.Foreign {
		c.schema.addForeign(key, use)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Aliases)) {
		if err := c.schema.addAlias(key, s.Aliases[key]); err != nil {
			return nil, err
		}
	}
	src, err := readSource(s)
	if err != nil {
		return nil, err
	}
	c.File, c.Content = src.name, src.text
	if c.doc, err = parseDocument(src.name, src.text, c.schema); err != nil {
		return nil, err
	}
	c.problems = c.doc.errs
	if err := c.layer(s); err != nil {
		return nil, err
	}
	c.note(s.Text != "", src)
	c.decode()
	for _, b := range blocks {
		c.validate(b, s.Validate[b.Prefix])
	}
	return c, nil
}

// layer hands every known key to viper, which decides which source wins.
func (c *Config) layer(s Sources) error {
	for _, l := range c.schema.leaves {
		c.viper.SetDefault(l.key, builtIn{l.fields[0]})
		if err := c.viper.BindEnv(append([]string{l.key}, l.env()...)...); err != nil {
			return err
		}
	}
	for _, d := range s.Defaults {
		c.set(d, "default of the application", c.viper.SetDefault)
	}
	file := make(map[string]any, len(c.doc.known))
	for key, v := range c.doc.known {
		file[key] = v
	}
	if err := c.viper.MergeConfigMap(file); err != nil {
		return err
	}
	for _, p := range s.Properties {
		c.set(p, cmp.Or(p.Origin, "property"), c.viper.Set)
	}
	return nil
}

// builtIn is the default in the block: it counts for placeholders, and leaves
// the field as it is.
type builtIn struct{ field reflect.Value }

// set stores a setting from code with the given setter of viper.
func (c *Config) set(s Setting, origin string, store func(string, any)) {
	v := valueOf(s.Value, origin)
	key := strings.TrimPrefix(s.Key, springPrefix)
	found, rest := c.schema.find(key)
	switch {
	case found != nil && found.leaf != nil && rest == "":
		store(found.leaf.key, c.doc.named(found, s.Key, v))
	case found != nil && found.leaf != nil:
		m, _ := c.raw(found.leaf)
		if m.kind == kindText { // an environment variable
			parsed, err := parseJSON(m.text)
			if err != nil {
				return // decode says so
			}
			m = parsed
		}
		m.kind = kindMap
		m.pairs, m.origin = slices.Clone(m.pairs), origin
		if name, key := found.entry(rest); found.leaf.isNested() && key != "" {
			m.setBelow(name, key, v)
		} else {
			m.set(rest, v)
		}
		store(found.key, m)
	case found != nil && !found.foreign:
		c.problems = append(c.problems, Problem{Key: s.Key, Value: v.shown(), Origin: origin, Reason: "is a block of keys, not a key"})
	case found != nil && found.moved:
		c.doc.moved = append(c.doc.moved, stray{s.Key, origin, found.use})
	default:
		c.doc.other[uniformPath(key)] = v
		if use, ok := c.schema.elsewhere(key, false); ok {
			c.doc.moved = append(c.doc.moved, stray{s.Key, origin, use})
		} else if c.schema.owned(key) {
			c.doc.unknown = append(c.doc.unknown, stray{key: s.Key, origin: origin})
		}
	}
}

// raw returns the strongest value of a key; ok is false when it is the one built
// into the block.
func (c *Config) raw(l *leaf) (v value, ok bool) {
	switch got := c.viper.Get(l.key).(type) {
	case value:
		return got, true
	case string:
		return l.fromEnv(got), true
	case builtIn:
		return valueOf(got.field.Interface(), ""), false
	}
	return value{kind: kindNull}, false
}

// decode fills every field whose key is set.
func (c *Config) decode() {
	for _, l := range c.schema.leaves {
		v, ok := c.raw(l)
		if !ok {
			continue
		}
		d := decoder{
			expand:       func(text string) (string, error) { return c.expander(l.key).expand(text) },
			bareDuration: func() { c.bare = append(c.bare, l.key) },
		}
		for _, field := range l.fields {
			got, err := d.decode(v, field.Type())
			switch {
			case errors.Is(err, errUnset):
			case errors.Is(err, errNoJSON):
				c.unread[l.key] = true
				if strings.ContainsAny(v.text, "{[\"'") {
					v.text = masked // what of it is secret cannot be told
				}
				c.add(l.key, v, err.Error())
			case err != nil:
				c.unread[l.key] = true
				c.add(l.key, v, err.Error())
			default:
				field.Set(got)
			}
		}
	}
	if len(c.bare) > 0 {
		slices.Sort(c.bare)
		c.Notes = append(c.Notes, Note{
			slog.LevelInfo, "durations without a unit are read as milliseconds",
			[]any{"keys", strings.Join(slices.Compact(c.bare), ", ")},
		})
	}
}

// expander resolves placeholders in the value of a key. A name is a key, a key
// of the user's own in the document, or an environment variable.
func (c *Config) expander(key string) *expander {
	return &expander{
		fold: func(name string) string {
			name = strings.TrimPrefix(name, springPrefix)
			if n, rest := c.schema.find(name); n != nil && n.leaf != nil && rest == "" {
				return n.leaf.key
			}
			return uniformPath(name)
		},
		open: []string{key},
		lookup: func(name string) (string, bool, error) {
			name = strings.TrimPrefix(name, springPrefix) // as in the document
			if n, rest := c.schema.find(name); n != nil && n.leaf != nil {
				v, _ := c.raw(n.leaf)
				return scalarText(v, name, rest)
			}
			for _, env := range []string{name, EnvName(name)} {
				if text, ok := os.LookupEnv(env); ok && text != "" {
					return text, true, nil
				}
			}
			if v, ok := c.doc.other[uniformPath(name)]; ok {
				return scalarText(v, name, "")
			}
			if compute := c.computed[uniformPath(name)]; compute != nil {
				text, err := compute(func(key string) (string, error) { return c.expander(uniformPath(name)).expand("${" + key + ":}") })
				return text, err == nil, err
			}
			return "", false, nil
		},
	}
}

// scalarText is a value as the text of a placeholder. rest names a key inside a
// map.
func scalarText(v value, name, rest string) (string, bool, error) {
	if rest != "" {
		i := slices.IndexFunc(v.pairs, func(p pair) bool { return p.key == rest })
		if i < 0 {
			return "", false, nil
		}
		v = v.pairs[i].value
	}
	switch v.kind {
	case kindMap:
		return "", false, fmt.Errorf("placeholder ${%s} names a block of keys, not a value", excerpt(name))
	case kindNull:
		return "", false, nil
	}
	return v.String(), v.String() != "", nil
}

// validator is what a block may implement.
type validator interface{ Validate() error }

func (c *Config) validate(b Block, rule func() error) {
	if v, ok := b.Target.(validator); ok && rule == nil {
		rule = v.Validate
	}
	if rule == nil {
		return
	}
	err := rule()
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		key, reason, ok := strings.Cut(line, ": ")
		if n, _ := c.schema.find(b.Prefix + "." + key); !ok || n == nil {
			key, reason = "", line
		}
		c.Problem(strings.TrimSuffix(b.Prefix+"."+key, "."), reason)
	}
}

// Problem adds a mistake found by a rule that looks at more than one block. The
// value and its origin are filled in. A key whose value could not be read has its
// problem already: rules see the default in its place.
func (c *Config) Problem(key, reason string) {
	v := value{kind: kindNull}
	if n, rest := c.schema.find(key); n != nil && n.leaf != nil {
		if c.unread[n.leaf.key] {
			return
		}
		if got, set := c.raw(n.leaf); set {
			if v = got; rest != "" {
				v, _ = got.below(rest)
			}
		}
	}
	c.add(key, v, reason)
}

func (c *Config) add(key string, v value, reason string) {
	p := Problem{Key: key, Value: v.shown(), Origin: v.origin, Reason: reason}
	if p.Origin != "" { // the value is shown
		p.Reason = strings.TrimPrefix(reason, strconv.Quote(p.Value)+" ")
	}
	if !slices.Contains(c.problems, p) {
		c.problems = append(c.problems, p)
	}
}

// Err returns all problems as an [*Error], nil when there are none.
func (c *Config) Err() error {
	if len(c.problems) == 0 {
		return nil
	}
	problems := slices.Clone(c.problems)
	for i, p := range problems {
		if Secret(p.Key) {
			problems[i].Value = masked
		}
	}
	return &Error{Problems: problems}
}
