package config

import (
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// note says what was read and what nothing will read.
func (c *Config) note(fromCode bool, src source) {
	switch {
	case fromCode:
		c.Notes = append(c.Notes, Note{slog.LevelDebug, "configuration read", []any{"from", c.File}})
	case c.File == "":
		c.Notes = append(c.Notes, Note{slog.LevelInfo, "no configuration file, defaults and environment apply", []any{"searched", searched()}})
	default:
		c.Notes = append(c.Notes, Note{slog.LevelInfo, "configuration read", []any{"from", c.File}})
	}
	for _, file := range src.ignored {
		c.Notes = append(c.Notes, Note{slog.LevelWarn, "configuration file ignored, another one was read", []any{"file", file, "read", c.File}})
	}
	for _, file := range src.foreign {
		c.Notes = append(c.Notes, Note{slog.LevelWarn, "configuration file of another program, it is not read", []any{"file", file, "use", searchNames[0]}})
	}
	if c.doc.spring != "" {
		c.Notes = append(c.Notes, Note{slog.LevelInfo, "keys below spring: are read as if the prefix were not there", []any{"at", c.doc.spring}})
	}
	for _, a := range c.doc.aliased {
		c.Notes = append(c.Notes, Note{slog.LevelInfo, "configuration key of another program, it is read as ours", []any{"key", a.key, "at", a.origin, "as", a.use}})
	}
	for _, m := range c.doc.moved {
		args := []any{"key", m.key, "at", m.origin}
		if m.use != "" {
			args = append(args, "use", m.use)
		}
		c.Notes = append(c.Notes, Note{slog.LevelWarn, "configuration key of another program, it has no effect", args})
	}
	for _, u := range c.doc.unknown {
		args := []any{"key", u.key, "at", u.origin}
		if near := nearest(u.key, c.schema.keys()); near != "" {
			args = append(args, "nearest", near)
		}
		c.Notes = append(c.Notes, Note{slog.LevelWarn, "unknown configuration key, it has no effect", args})
	}
	c.noteEnvironment(os.Environ())
}

// noteEnvironment warns of variables that are nearly those of a key, that are an
// entry of a map, which one variable holds as a whole, or that only Spring reads. Who
// else sets variables cannot be known, so that of the first only one slip of the hand
// is: a letter, two that changed places, or an underscore, as Spring leaves out those
// for dashes.
func (c *Config) noteEnvironment(environ []string) {
	letters := func(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "_", "")) }
	var names, known []string
	read := map[string]bool{}
	for _, l := range c.schema.leaves {
		for _, name := range l.env() {
			read[name] = true
			if !strings.HasPrefix(name, springEnv) {
				names, known = append(names, name), append(known, letters(name))
			}
		}
	}
	above := c.schema.envAbove()
	slices.Sort(environ)
	var spring []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if value == "" || len(name) < shortestSlip {
			continue
		}
		bare, prefixed := strings.CutPrefix(name, springEnv)
		if read[name] {
			if prefixed {
				spring = append(spring, name)
			}
			continue
		}
		written := letters(bare)
		args := []any{"name", name}
		if i := slices.IndexFunc(known, func(k string) bool { return slip(written, k) }); i >= 0 {
			args = append(args, "nearest", names[i])
		} else if i := slices.IndexFunc(above, func(a envBlock) bool { return a.holds(name) || a.holds(bare) }); i >= 0 {
			args = append(args, "use", above[i].use)
		} else {
			continue
		}
		c.Notes = append(c.Notes, Note{slog.LevelWarn, "environment variable is that of no key, it has no effect", args})
	}
	if len(spring) > 0 {
		c.Notes = append(c.Notes, Note{
			slog.LevelInfo, "environment variables with SPRING_ in front are read as if that were not there", []any{"names", strings.Join(spring, ", ")},
		})
	}
}

// envBlock is the beginning of variables that nothing reads, and what to use in
// their place.
type envBlock struct{ name, use string }

func (b envBlock) holds(name string) bool {
	return name == b.name || strings.HasPrefix(name, b.name+"_")
}

// wholeMap is how an environment variable gives a map.
const wholeMap = ", which is the whole map as JSON"

// envAbove returns what begins the variables of entries of maps, of names below a key
// that are unknown, and of Spring's own keys.
func (s *schema) envAbove() []envBlock {
	var blocks []envBlock
	var collect func(n *node)
	collect = func(n *node) {
		name := EnvName(n.key)
		switch {
		case n.leaf != nil && !n.alias && n.leaf.isMap():
			blocks = append(blocks, envBlock{name, name + wholeMap})
		case n.others != "":
			blocks = append(blocks, envBlock{name, EnvName(n.others) + wholeMap})
		case n.moved && strings.HasPrefix(n.key, springPrefix):
			blocks = append(blocks, envBlock{name, n.use})
		}
		for _, child := range slices.Sorted(maps.Keys(n.children)) {
			collect(n.children[child])
		}
	}
	collect(s.root)
	return blocks
}

// shortestSlip is from how many letters on a likeness is no coincidence.
const shortestSlip = 8

// slip reports whether one text is another, or that with one letter changed, too many or
// missing, or with two that changed places.
func slip(a, b string) bool {
	if len(a)-len(b) > 1 || len(b)-len(a) > 1 {
		return false
	}
	switch levenshtein.ComputeDistance(a, b) {
	case 0, 1:
		return true
	case 2:
		x, y := []byte(a), []byte(b)
		slices.Sort(x)
		slices.Sort(y)
		return string(x) == string(y)
	}
	return false
}

// nearest returns the known key that was probably meant: the one a few letters away,
// or else the one in the same block at the top that ends in the same name; "" when
// there is none.
func nearest(key string, known []string) string {
	folded := uniformPath(key)
	first, _, _ := strings.Cut(folded, ".")
	last := folded[strings.LastIndexByte(folded, '.')+1:]
	var same []string
	best, limit := "", 2+len(last)/3
	for _, k := range known {
		if other := uniformPath(k); strings.HasPrefix(other, first+".") && strings.HasSuffix(other, "."+last) {
			same = append(same, k)
		}
		if d := levenshtein.ComputeDistance(folded, uniformPath(k)); d < limit {
			best, limit = k, d
		}
	}
	if best == "" && len(same) == 1 {
		return same[0]
	}
	return best
}
