package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of one expansion, so that a document that refers to itself in a
// doubling way ends in an error and not in all of the memory.
const (
	maxExpansions = 1000
	maxExpanded   = 1 << 20
)

// expander replaces ${name} and ${name:default} in text. Names and defaults may
// hold placeholders themselves, and so may the values found. A backslash before
// ${ keeps it as it is.
type expander struct {
	// lookup returns the unexpanded value of a name.
	lookup func(name string) (string, bool, error)
	// fold returns the one spelling of a name, for the detection of cycles.
	fold func(name string) string

	open  []string // names whose values are being expanded
	steps int
}

func (e *expander) expand(text string) (string, error) {
	var b strings.Builder
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			b.WriteString(text)
			return b.String(), nil
		}
		if i > 0 && text[i-1] == '\\' {
			b.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		b.WriteString(text[:i])
		body, rest, ok := cutPlaceholder(text[i+2:])
		if !ok {
			return "", fmt.Errorf("placeholder %q has no closing brace (write \\${ for the plain characters)", e.excerpt(text[i:]))
		}
		got, err := e.one(body, i == 0 && rest == "")
		if err != nil {
			return "", err
		}
		b.WriteString(got)
		if b.Len() > maxExpanded {
			return "", errors.New("placeholders expand to more than a megabyte")
		}
		text = rest
	}
}

// one returns the value of a placeholder with the given body, which may be the
// whole of the text.
func (e *expander) one(body string, whole bool) (string, error) {
	if e.steps++; e.steps > maxExpansions {
		return "", errors.New("too many placeholders within placeholders")
	}
	name, fallback, hasFallback := cutDefault(body)
	name, err := e.expand(name)
	if err != nil {
		return "", err
	}
	name = strings.TrimSpace(name)
	shown := e.excerpt(name)
	if whole && e.steps == 1 {
		shown = excerpt(name) // a value that is one placeholder holds no secret
	}
	folded := e.fold(name)
	if slices.Contains(e.open, folded) {
		return "", fmt.Errorf("placeholders refer to each other: %s", strings.Join(append(e.open, folded), " -> "))
	}
	text, found, err := e.lookup(name)
	switch {
	case err != nil:
		return "", err
	case found:
		e.open = append(e.open, folded)
		text, err = e.expand(text)
		e.open = e.open[:len(e.open)-1]
		return text, err
	case hasFallback:
		return e.expand(fallback)
	}
	return "", fmt.Errorf("placeholder ${%s} has no value: neither a key nor an environment variable, and no default as in ${%[1]s:default}", shown)
}

// cutPlaceholder splits the text after "${" at the brace that closes it.
func cutPlaceholder(s string) (body, rest string, ok bool) {
	depth := 1
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '$' && i+1 < len(s) && s[i+1] == '{':
			depth++
			i++
		case s[i] == '}':
			if depth--; depth == 0 {
				return s[:i], s[i+1:], true
			}
		}
	}
	return "", "", false
}

// cutDefault splits the body of a placeholder at the first colon that is not
// inside another placeholder.
func cutDefault(body string) (name, fallback string, ok bool) {
	depth := 0
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] == '$' && i+1 < len(body) && body[i+1] == '{':
			depth++
			i++
		case body[i] == '}' && depth > 0:
			depth--
		case body[i] == ':' && depth == 0:
			return body[:i], body[i+1:], true
		}
	}
	return body, "", false
}

// excerpt is text of a value for a message, unless the value is a secret: what
// looks like a placeholder may be a part of it.
func (e *expander) excerpt(s string) string {
	if slices.ContainsFunc(e.open, Secret) {
		return masked
	}
	return excerpt(s)
}

// excerpt bounds text that is repeated in a message.
func excerpt(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
