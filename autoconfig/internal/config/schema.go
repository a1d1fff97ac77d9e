package config

import (
	"encoding"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
)

// tagName is the struct tag that names a key, the one viper's users know.
const tagName = "mapstructure"

// schema is the tree of all known keys, built from the fields of the blocks.
type schema struct {
	root   *node
	leaves []*leaf // in the order of the blocks and their fields

	// perName holds, by its name, a block of another program that stands below a
	// name of the user's own, and what to use in its place.
	perName map[string]string
}

// node is a name in the tree: a block of further names or, with a leaf, a key.
type node struct {
	key      string // canonical path
	owned    bool   // unknown names below are worth a warning
	parent   *node  // nil at the root
	children map[string]*node
	leaf     *leaf

	alias   bool   // a key of another program for leaf, which is one of ours
	unit    string // see [Alias]
	foreign bool   // only there for keys of other programs below
	moved   bool   // a key or block of another program that has no effect here
	use     string // what to use in its place, "" when there is nothing
	others  string // what to use for names below that are unknown, "" when nothing is known
}

// leaf is a key that holds a value.
type leaf struct {
	key    string
	typ    reflect.Type
	fields []reflect.Value // more than one when blocks share a key

	aliases []*node // the keys of other programs for it
}

// isMap reports whether the names below the key are the user's own.
func (l *leaf) isMap() bool { return l.typ.Kind() == reflect.Map }

// isNested reports whether each of those names stands for a map of its own.
func (l *leaf) isNested() bool { return l.isMap() && l.typ.Elem().Kind() == reflect.Map }

// entry splits a path below a nested map into the name in the map and the key
// below it. The name may hold dots: it ends before the first key of the block that
// the map stands in, since that is what the entries of such a map hold.
func (n *node) entry(path string) (name, key string) {
	for i, c := range path {
		if c != '.' {
			continue
		}
		first, _, _ := strings.Cut(path[i+1:], ".")
		if n.parent.children[uniform(first)] != nil {
			return path[:i], path[i+1:]
		}
	}
	name, key, _ = strings.Cut(path, ".")
	return name, key
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

func newSchema() *schema {
	return &schema{root: &node{children: map[string]*node{}}, perName: map[string]string{}}
}

// own marks a prefix as ours: unknown names below are reported.
func (s *schema) own(prefix string) { s.descend(prefix).owned = true }

// addForeign names a key or block that users of another program bring along. One
// that a block of the application reads is none. The blocks are added before.
// With ".*" behind it is every name below that nothing reads, with "*." in front
// what stands so below a name of the user's own, with "spring." in front what does
// below that prefix alone.
func (s *schema) addForeign(key, use string) {
	if above, ok := strings.CutSuffix(key, ".*"); ok {
		s.descend(above).others = use
		return
	}
	if name, ok := strings.CutPrefix(key, "*."); ok {
		s.perName[uniform(name)] = use
		return
	}
	n, read := s.root, true
	for name := range strings.SplitSeq(key, ".") {
		_, known := n.children[uniform(name)]
		read = read && known
		n = n.child(name)
		n.foreign = n.foreign || !known
	}
	if read && !n.foreign {
		return
	}
	n.moved, n.use = true, use
}

// addAlias names a key that users of another program bring along and that is read
// as one of ours.
func (s *schema) addAlias(key string, a Alias) error {
	target, rest := s.find(a.Key)
	if target == nil || target.leaf == nil || target.leaf.isMap() || rest != "" {
		return fmt.Errorf("%s is to be read as %s, which is no key of one value or list", key, a.Key)
	}
	n := s.root
	for name := range strings.SplitSeq(key, ".") {
		_, known := n.children[uniform(name)]
		n = n.child(name)
		n.foreign = n.foreign || !known
	}
	n.leaf, n.alias, n.unit = target.leaf, true, a.Unit
	n.leaf.aliases = append(n.leaf.aliases, n)
	return nil
}

// env are the environment variables of a key, ours first. Each may have Spring's
// prefix, as the keys of a document may.
func (l *leaf) env() []string {
	names := []string{EnvName(l.key)}
	for _, n := range l.aliases {
		names = append(names, EnvName(n.key))
	}
	for _, name := range names {
		names = append(names, springEnv+name)
	}
	return names
}

// fromEnv is the value that an environment variable gives the key.
func (l *leaf) fromEnv(text string) value {
	for i, name := range l.env() {
		if got := os.Getenv(name); got != text {
			continue
		}
		v := value{text: text, origin: "environment variable " + name}
		if alias := i % (1 + len(l.aliases)); alias > 0 {
			v = l.aliases[alias-1].inUnit(v)
		}
		return v
	}
	return value{text: text, origin: "environment"}
}

// inUnit writes the unit behind a bare number.
func (n *node) inUnit(v value) value {
	if _, err := strconv.ParseFloat(v.text, 64); n.unit != "" && v.kind == kindText && err == nil {
		v.text += n.unit
	}
	return v
}

// descend returns the node of a canonical path, made when missing.
func (s *schema) descend(path string) *node {
	n := s.root
	for name := range strings.SplitSeq(path, ".") {
		n = n.child(name)
	}
	return n
}

func (n *node) child(name string) *node {
	c := n.children[uniform(name)]
	if c == nil {
		key := name
		if n.key != "" {
			key = n.key + "." + name
		}
		c = &node{key: key, owned: n.owned, parent: n, children: map[string]*node{}}
		n.children[uniform(name)] = c
	}
	return c
}

// addBlock adds the fields of the struct that target points to.
func (s *schema) addBlock(prefix string, target any) error {
	v := reflect.ValueOf(target)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("properties of %q are a %T, want a struct", prefix, target)
	}
	n := s.descend(prefix)
	n.owned = true
	return s.addStruct(n, v.Elem())
}

func (s *schema) addStruct(n *node, v reflect.Value) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case !f.IsExported() || f.Tag.Get(tagName) == "-":
		case squashed(f):
			if err := s.addStruct(n, v.Field(i)); err != nil {
				return err
			}
		default:
			if err := s.addField(n.child(fieldName(f)), v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *schema) addField(c *node, v reflect.Value) error {
	c.owned = true
	if v.Kind() == reflect.Struct && !reflect.PointerTo(v.Type()).Implements(textUnmarshaler) {
		return s.addStruct(c, v)
	}
	if c.leaf == nil {
		c.leaf = &leaf{key: c.key, typ: v.Type()}
		s.leaves = append(s.leaves, c.leaf)
	}
	if c.leaf.isMap() != (v.Kind() == reflect.Map) {
		return fmt.Errorf("key %s is a map in one block of properties and a plain value in another", c.key)
	}
	c.leaf.fields = append(c.leaf.fields, v)
	return nil
}

// find returns the key that a path in any spelling names. Below a map, or a
// block of another program, rest is the remaining path, case-exact.
func (s *schema) find(path string) (found *node, rest string) {
	n := s.root
	segments := strings.Split(path, ".")
	for i, segment := range segments {
		if n.moved || n.leaf != nil && n.leaf.isMap() {
			return n, strings.Join(segments[i:], ".")
		}
		if n = n.children[uniform(segment)]; n == nil {
			return nil, ""
		}
	}
	return n, ""
}

// owned reports whether an unknown path lies below a prefix of ours.
func (s *schema) owned(path string) bool {
	n := s.root
	for segment := range strings.SplitSeq(path, ".") {
		c := n.children[uniform(segment)]
		if c == nil {
			break
		}
		n = c
	}
	return n.owned
}

// elsewhere says what to use in the place of an unknown path that is a key of
// another program all the same; ok is false when it is none.
func (s *schema) elsewhere(path string, spring bool) (use string, ok bool) {
	if n, _ := s.find(springPrefix + path); spring && n != nil && n.moved {
		return n.use, true
	}
	n := s.root
	for segment := range strings.SplitSeq(path, ".") {
		if n = n.children[uniform(segment)]; n == nil {
			break
		}
		use = n.others
	}
	return use, use != ""
}

// nearMiss reports whether a block at the top of the document is one of ours
// with a letter wrong: its name is as near as that, and a name in it is known
// there. Anything else at the top is the user's own.
func (s *schema) nearMiss(path string, n *yaml.Node) bool {
	if strings.Contains(path, ".") || n.Kind != yaml.MappingNode {
		return false
	}
	for name, block := range s.root.children {
		if block.foreign {
			continue
		}
		if levenshtein.ComputeDistance(name, uniform(path)) > 2 {
			continue
		}
		for i := 0; i < len(n.Content); i += 2 {
			first, _, _ := strings.Cut(n.Content[i].Value, ".")
			if block.children[uniform(first)] != nil {
				return true
			}
		}
	}
	return false
}

// keys returns the names of all blocks and keys, sorted.
func (s *schema) keys() []string {
	var keys []string
	var collect func(n *node)
	collect = func(n *node) {
		for _, c := range n.children {
			if !c.foreign {
				keys = append(keys, c.key)
				collect(c)
			}
		}
	}
	collect(s.root)
	slices.Sort(keys)
	return keys
}
