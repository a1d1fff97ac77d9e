package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is a YAML document spread out into keys.
type document struct {
	name    string
	schema  *schema
	known   map[string]value // by canonical key
	other   map[string]value // the user's own, by uniform path, for placeholders
	unknown []stray
	moved   []stray // keys of another program
	aliased []stray // those that are read as one of ours
	spring  string  // where the spring: prefix was found
	inside  bool    // of what has that prefix
	errs    []Problem
	visited int // nodes, aliases followed
}

// stray is a name that nothing reads; use is what to write instead.
type stray struct{ key, origin, use string }

// parseDocument reads one YAML document. Syntax errors name the file and line.
func parseDocument(name string, text []byte, s *schema) (*document, error) {
	d := &document{name: name, schema: s, known: map[string]value{}, other: map[string]value{}}
	root, err := parseYAML(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if root == nil {
		return d, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: the document must be a map of keys", name, root.Line)
	}
	for _, p := range d.pairs(root, 0) {
		if uniform(p.key) == "spring" && p.node.Kind == yaml.MappingNode {
			d.spring, d.inside = d.at(p.node), true
			for _, below := range d.pairs(p.node, 1) {
				d.walk(below.key, below.node, 1)
			}
			d.inside = false
			continue
		}
		rest, spring := strings.CutPrefix(p.key, springPrefix)
		if d.inside = spring; spring {
			d.spring = d.at(p.node)
		}
		d.walk(rest, p.node, 0)
	}
	return d, nil
}

// parseYAML returns the root of the one document in text, nil when it is empty.
func parseYAML(text []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxError(err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d: a second document begins here, only one is read (there are no profiles)", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil, nil
	}
	return doc.Content[0], nil
}

// syntaxError is the error of the YAML library with the right line: where its
// grammar, and not its scanner, is disappointed, it counts lines from zero.
func syntaxError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	const grammar = "did not find expected"
	var line int
	if strings.HasPrefix(text, grammar) {
		text = "line 1: " + text
	} else if _, rest, _ := strings.Cut(text, ": "); strings.HasPrefix(rest, grammar) {
		if _, err := fmt.Sscanf(text, "line %d:", &line); err == nil {
			text = fmt.Sprintf("line %d: %s", line+1, rest)
		}
	}
	return errors.New(text)
}

// Bounds on a document, so that aliases that contain themselves or each other
// end in an error and not in all of the memory.
const (
	maxDepth = 64
	maxNodes = 100_000
)

// tooLarge reports whether a node is to be left out, and says so once.
func (d *document) tooLarge(depth int) bool {
	d.visited++
	if depth <= maxDepth && d.visited <= maxNodes {
		return false
	}
	problem := Problem{Reason: fmt.Sprintf("%s: nested more than %d deep, or more than %d values", d.name, maxDepth, maxNodes)}
	if !slices.Contains(d.errs, problem) {
		d.errs = append(d.errs, problem)
	}
	return true
}

type yamlPair struct {
	key  string
	node *yaml.Node
}

// pairs lists a mapping with aliases followed and merge keys (<<) applied.
func (d *document) pairs(n *yaml.Node, depth int) []yamlPair {
	if d.tooLarge(depth) {
		return nil
	}
	var merged, own []yamlPair
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], follow(n.Content[i+1])
		switch {
		case k.Tag == "!!merge" && v.Kind == yaml.SequenceNode:
			for _, e := range v.Content {
				merged = append(d.pairs(follow(e), depth+1), merged...)
			}
		case k.Tag == "!!merge":
			merged = append(merged, d.pairs(v, depth+1)...)
		default:
			own = append(own, yamlPair{follow(k).Value, v})
		}
	}
	out := own
	for _, m := range merged {
		overridden := false
		for _, o := range own {
			overridden = overridden || uniform(o.key) == uniform(m.key)
		}
		if !overridden {
			out = append(out, m)
		}
	}
	return out
}

func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// at is the place of a node as messages name it.
func (d *document) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", d.name, n.Line) }

// walk spreads a node out below a path as it was written.
func (d *document) walk(path string, n *yaml.Node, depth int) {
	found, rest := d.schema.find(path)
	switch {
	case found == nil:
		d.stray(path, n, depth)
		d.keep(path, n, depth)
	case found.moved:
		d.moved = append(d.moved, stray{path, d.at(n), found.use})
		d.keep(path, n, depth)
	case found.leaf != nil && rest != "":
		d.putInMap(found, rest, n, depth)
	case found.leaf != nil && (n.Kind != yaml.MappingNode || len(found.children) == 0):
		d.put(found, n, depth)
	case n.Kind == yaml.MappingNode:
		for _, p := range d.pairs(n, depth) {
			d.walk(path+"."+p.key, p.node, depth+1)
		}
	case found.foreign:
		if found.owned || d.inside {
			d.unknown = append(d.unknown, stray{key: path, origin: d.at(n)})
		}
		d.keep(path, n, depth)
	case n.Tag != "!!null":
		d.errs = append(d.errs, Problem{Key: found.key, Value: withoutSecrets(n.Value), Origin: d.at(n), Reason: "is a value where a block of keys is expected"})
	}
}

// stray notes a path that nothing reads. What stands below spring: is Spring's;
// anything else that is not below a block of ours is the user's own, and only what
// another program puts there is noted.
func (d *document) stray(path string, n *yaml.Node, depth int) {
	if use, ok := d.schema.elsewhere(path, d.inside); ok {
		d.moved = append(d.moved, stray{path, d.at(n), use})
		return
	}
	if d.inside || d.schema.owned(path) || d.schema.nearMiss(path, n) {
		d.unknown = append(d.unknown, stray{key: path, origin: d.at(n)})
		return
	}
	if _, below, flat := strings.Cut(path, "."); flat {
		d.strayBelowName(path, below, n)
		return
	}
	if n.Kind == yaml.MappingNode {
		for _, p := range d.pairs(n, depth) {
			d.strayBelowName(path+"."+p.key, p.key, p.node)
		}
	}
}

// strayBelowName notes what another program puts below a name of the user's own,
// such as that of a service.
func (d *document) strayBelowName(path, below string, n *yaml.Node) {
	name, _, _ := strings.Cut(below, ".")
	if use, ok := d.schema.perName[uniform(name)]; ok {
		d.moved = append(d.moved, stray{path, d.at(n), use})
	}
}

// keep stores what is the user's own, for placeholders.
func (d *document) keep(path string, n *yaml.Node, depth int) {
	if n.Kind != yaml.MappingNode {
		d.other[uniformPath(path)] = d.value(n, depth)
		return
	}
	for _, p := range d.pairs(n, depth) {
		d.keep(path+"."+p.key, p.node, depth+1)
	}
}

// named is the value of a key that may be of another program, which is noted.
func (d *document) named(n *node, written string, v value) value {
	if !n.alias {
		return v
	}
	d.aliased = append(d.aliased, stray{written, v.origin, n.leaf.key})
	v.origin += ", as " + n.key
	return n.inUnit(v)
}

// put stores the value of a known key.
func (d *document) put(n *node, y *yaml.Node, depth int) {
	v := d.named(n, n.key, d.value(y, depth))
	key := n.leaf.key
	switch {
	case v.kind == kindNull:
		return // as if the key were not there
	case v.kind == kindMap && n.leaf.isMap():
		old, ok := d.known[key]
		if !ok {
			d.known[key] = v
			return
		}
		for _, p := range v.pairs {
			d.addPair(key, &old, p)
		}
		d.known[key] = old
		return
	case v.kind == kindMap:
		d.errs = append(d.errs, Problem{Key: key, Value: v.shown(), Origin: v.origin, Reason: "is a block of keys where one value is expected"})
		return
	}
	if old, twice := d.known[key]; twice {
		d.errs = append(d.errs, Problem{Key: key, Value: v.shown(), Origin: v.origin, Reason: "is set twice, first at " + old.origin})
		return
	}
	d.known[key] = v
}

// putInMap stores a flat key that ends inside a map: metadata.zone: a.
func (d *document) putInMap(n *node, rest string, y *yaml.Node, depth int) {
	m, ok := d.known[n.key]
	if !ok {
		m = value{kind: kindMap, origin: d.at(y)}
	}
	if m.kind != kindMap {
		d.errs = append(d.errs, Problem{Key: n.key + "." + rest, Value: withoutSecrets(y.Value), Origin: d.at(y), Reason: "is set twice, first at " + m.origin})
		return
	}
	v := d.value(y, depth)
	if name, key := n.entry(rest); n.leaf.isNested() && key != "" {
		if old, twice := m.below(name + "." + key); twice {
			d.errs = append(d.errs, Problem{Key: n.key + "." + rest, Value: v.shown(), Origin: v.origin, Reason: "is set twice, first at " + old.origin})
			return
		}
		m.pairs = slices.Clone(m.pairs)
		m.setBelow(name, key, v)
	} else {
		d.addPair(n.key, &m, pair{rest, v})
	}
	d.known[n.key] = m
}

func (d *document) addPair(key string, m *value, p pair) {
	for i, old := range m.pairs {
		if old.key == p.key && old.value.kind == kindMap && p.value.kind == kindMap {
			for _, inner := range p.value.pairs {
				d.addPair(key+"."+p.key, &m.pairs[i].value, inner)
			}
			return
		}
		if old.key == p.key {
			d.errs = append(d.errs, Problem{Key: key + "." + p.key, Value: p.value.shown(), Origin: p.value.origin, Reason: "is set twice, first at " + old.value.origin})
			return
		}
	}
	m.pairs = append(m.pairs, p)
}

// value reads a node as it was written.
func (d *document) value(n *yaml.Node, depth int) value {
	n = follow(n)
	v := value{origin: d.at(n)}
	if d.tooLarge(depth) {
		return v
	}
	switch n.Kind {
	case yaml.SequenceNode:
		v.kind = kindList
		for _, e := range n.Content {
			v.list = append(v.list, d.value(e, depth+1))
		}
	case yaml.MappingNode:
		v.kind = kindMap
		for _, p := range d.pairs(n, depth) {
			v.pairs = append(v.pairs, pair{p.key, d.value(p.node, depth+1)})
		}
	default:
		v.text = n.Value
		if n.Tag == "!!null" {
			v.kind = kindNull
		}
	}
	return v
}
