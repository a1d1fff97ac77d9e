package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// format is the form of what is printed.
type format string

// The formats.
const (
	formatTable format = "table"
	formatJSON  format = "json"
	formatYAML  format = "yaml"
)

var formats = []string{string(formatTable), string(formatJSON), string(formatYAML)}

// String implements pflag.Value.
func (f *format) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *format) Type() string { return "format" }

// Set implements pflag.Value.
func (f *format) Set(text string) error {
	for _, known := range formats {
		if text == known {
			*f = format(text)
			return nil
		}
	}
	return fmt.Errorf("must be %s", strings.Join(formats, ", "))
}

// printer writes results in the chosen format.
type printer struct {
	w      io.Writer
	format format
	colour bool
}

func (c *cli) printer() *printer {
	return &printer{c.out, c.format, isTerminal(c.out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// isTerminal reports whether somebody looks at what is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// colour is the number of a terminal's colour.
type colour int

const (
	none   colour = 0
	red    colour = 31
	green  colour = 32
	yellow colour = 33
	bold   colour = 1
)

func (p *printer) coloured(c colour, text string) string {
	if !p.colour || c == none {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", c, text)
}

// cell is a text in a table.
type cell struct {
	text   string
	colour colour
}

type row []cell

// plain is a cell with a text of somebody's; whatever could act on a terminal is
// shown instead.
func plain(text string) cell { return cell{printable(text), none} }

// number is a cell with a number.
func number(n int) cell { return cell{fmt.Sprint(n), none} }

// printable shows control characters and what reorders text by their codes.
func printable(text string) string {
	if !strings.ContainsFunc(text, acts) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if acts(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func acts(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// list prints values: a document of all, or a table of rows.
func (p *printer) list(values any, head []string, rows iter.Seq[row]) error {
	if p.format != formatTable {
		return p.document(values)
	}
	all := []row{make(row, len(head))}
	for i, name := range head {
		all[0][i] = cell{name, bold}
	}
	for r := range rows {
		all = append(all, r)
	}
	widths := make([]int, len(head))
	for _, r := range all {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	var b bytes.Buffer
	for _, r := range all {
		for i, c := range r {
			b.WriteString(p.coloured(c.colour, c.text))
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2))
			}
		}
		b.WriteByte('\n')
	}
	_, err := p.w.Write(b.Bytes())
	return err
}

// eachOf makes a row of each value.
func eachOf[T any](values []T, line func(T) row) iter.Seq[row] {
	return func(yield func(row) bool) {
		for _, v := range values {
			if !yield(line(v)) {
				return
			}
		}
	}
}

// line prints a sentence; only tables have any.
func (p *printer) line(text string) { fmt.Fprintln(p.w, text) }

// done prints what was done: a sentence, or a document.
func (p *printer) done(sentence string, value any) error {
	if p.format != formatTable {
		return p.document(value)
	}
	_, err := fmt.Fprintln(p.w, printable(sentence))
	return err
}

// document prints a value as JSON or YAML, with the same names and order in both.
func (p *printer) document(value any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if p.format == formatJSON {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(value); err != nil {
		return err
	}
	if p.format == formatYAML {
		text, err := toYAML(b.Bytes())
		if err != nil {
			return err
		}
		b = *bytes.NewBuffer(text)
	}
	_, err := p.w.Write(b.Bytes())
	return err
}

// event prints one of many documents: a line of JSON each, or a YAML document
// each.
func (p *printer) event(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if p.format == formatYAML {
		if text, err = toYAML(text); err != nil {
			return err
		}
		text = append([]byte("---\n"), text...)
	} else {
		text = append(text, '\n')
	}
	_, err = p.w.Write(text)
	return err
}

// toYAML writes a JSON text as YAML. Every JSON text is YAML, in the style of
// flow.
func toYAML(text []byte) ([]byte, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return nil, err
	}
	var block func(*yaml.Node)
	block = func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode && len(n.Content) > 0 {
			n.Style &^= yaml.FlowStyle
		}
		if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
			n.Style = 0 // quoted again where that is needed
		}
		for _, c := range n.Content {
			block(c)
		}
	}
	block(&n)
	return yaml.Marshal(&n)
}
