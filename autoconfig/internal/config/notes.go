package config

import (
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// note says what was read and what nothing will read.
func (c *Config) note(fromCode bool, ignored []string) {
	switch {
	case fromCode:
		c.Notes = append(c.Notes, Note{slog.LevelDebug, "configuration read", []any{"from", c.File}})
	case c.File == "":
		c.Notes = append(c.Notes, Note{slog.LevelInfo, "no configuration file, defaults and environment apply", []any{"searched", searched()}})
	default:
		c.Notes = append(c.Notes, Note{slog.LevelInfo, "configuration read", []any{"from", c.File}})
	}
	for _, file := range ignored {
		c.Notes = append(c.Notes, Note{slog.LevelWarn, "configuration file ignored, another one was read", []any{"file", file, "read", c.File}})
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

// noteEnvironment warns of variables that are nearly those of a key. Who else sets
// variables cannot be known, so that only one slip of the hand is: a letter, two that
// changed places, or an underscore, as Spring leaves out those for dashes.
func (c *Config) noteEnvironment(environ []string) {
	letters := func(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "_", "")) }
	var names, known []string
	read := map[string]bool{}
	for _, l := range c.schema.leaves {
		name := EnvName(l.key)
		names, known = append(names, name), append(known, letters(name))
		for _, name := range l.env() {
			read[name] = true
		}
	}
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
		if i := slices.IndexFunc(known, func(k string) bool { return slip(written, k) }); i >= 0 {
			c.Notes = append(c.Notes, Note{
				slog.LevelWarn, "environment variable is that of no key, it has no effect", []any{"name", name, "nearest", names[i]},
			})
		}
	}
	if len(spring) > 0 {
		c.Notes = append(c.Notes, Note{
			slog.LevelInfo, "environment variables with SPRING_ in front are read as if that were not there", []any{"names", strings.Join(spring, ", ")},
		})
	}
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

// nearest returns the known key that was probably meant: the one that ends in the
// same name, or else the one a few letters away; "" when there is none.
func nearest(key string, known []string) string {
	folded := uniformPath(key)
	last := folded[strings.LastIndexByte(folded, '.')+1:]
	var same []string
	best, limit := "", 2+len(last)/3
	for _, k := range known {
		if strings.HasSuffix(uniformPath(k), "."+last) {
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
