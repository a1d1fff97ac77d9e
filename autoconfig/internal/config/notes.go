package config

import (
	"log/slog"
	"strings"

	"github.com/agnivade/levenshtein"
)

// note says what was read and what nothing will read.
func (c *Config) note(ignored []string) {
	if c.File == "" {
		c.Notes = append(c.Notes, Note{slog.LevelInfo, "no configuration file, defaults and environment apply", []any{"searched", searched()}})
	} else {
		c.Notes = append(c.Notes, Note{slog.LevelInfo, "configuration read", []any{"file", c.File}})
	}
	for _, file := range ignored {
		c.Notes = append(c.Notes, Note{slog.LevelWarn, "configuration file ignored, another one was read", []any{"file", file, "read", c.File}})
	}
	if c.doc.spring != "" {
		c.Notes = append(c.Notes, Note{slog.LevelInfo, "keys below spring: are read as if the prefix were not there", []any{"at", c.doc.spring}})
	}
	for _, u := range c.doc.unknown {
		args := []any{"key", u.key, "at", u.origin}
		if near := nearest(u.key, c.schema.keys()); near != "" {
			args = append(args, "nearest", near)
		}
		c.Notes = append(c.Notes, Note{slog.LevelWarn, "unknown configuration key, it has no effect", args})
	}
}

// nearest returns the known key that a typing mistake may have meant, "" when
// none is near.
func nearest(key string, known []string) string {
	best, bestDistance := "", len(key)/3+1
	folded := uniformPath(key)
	for _, k := range known {
		if d := levenshtein.ComputeDistance(folded, uniformPath(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best != "" {
		return best
	}
	// Else the same last name in another place, when only one key has it.
	last := folded[strings.LastIndexByte(folded, '.')+1:]
	for _, k := range known {
		if strings.HasSuffix(uniformPath(k), "."+last) {
			if best != "" {
				return ""
			}
			best = k
		}
	}
	return best
}
