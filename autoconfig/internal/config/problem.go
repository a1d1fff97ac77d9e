package config

import (
	"fmt"
	"strings"
)

// Problem is one mistake in the configuration.
type Problem struct {
	// Key is the full key, "" when the mistake is not about one.
	Key string
	// Value is what was configured; secrets are masked.
	Value string
	// Origin says where the value was written: file and line, an environment
	// variable, an option; "" when nothing was written.
	Origin string
	// Reason says what is wrong and what would be right.
	Reason string
}

// Error is the whole problem on one line.
func (p Problem) Error() string {
	var b strings.Builder
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	if p.Origin != "" {
		fmt.Fprintf(&b, "%q ", p.Value)
	}
	b.WriteString(p.Reason)
	if p.Origin != "" {
		b.WriteString(" (" + p.Origin + ")")
	}
	return b.String()
}

// Error is all that is wrong with a configuration, one problem a line.
type Error struct{ Problems []Problem }

// Error joins the problems with line breaks.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}
