package config

import (
	"log/slog"
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
