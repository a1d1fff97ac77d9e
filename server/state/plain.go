package state

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// plain reads instances in exactly the form in which this package writes them:
// all members in their order, no white space, no escapes. That is nearly all of
// every snapshot and log, and reading it is most of what a start costs. Whatever
// looks different in any way is not an error: it fails, and encoding/json is
// asked.
type plain struct {
	rest   []byte
	failed bool
	// shared are strings that were read before, for those that come again and
	// again; nil shares nothing.
	shared map[string]string
	// last is the metadata that was read last, and lastPairs its text: neighbours
	// often have the same, and what the state holds is immutable.
	last      map[string]string
	lastPairs []byte
}

// longestShared and maxShared bound what is remembered.
const (
	longestShared = 64
	maxShared     = 4096
)

// instance reads an instance.
func (p *plain) instance(i *Instance) {
	p.literal(`{"service":{"Namespace":`)
	i.Service.Namespace = p.text()
	p.literal(`,"Group":`)
	i.Service.Group = p.text()
	p.literal(`,"Name":`)
	i.Service.Name = p.text()
	p.literal(`},"cluster":`)
	i.Cluster = p.text()
	p.literal(`,"ip":`)
	i.IP = p.text()
	p.literal(`,"port":`)
	i.Port = p.integer()
	p.literal(`,"id":`)
	i.ID = string(p.quoted())
	p.literal(`,"weight":`)
	i.Weight = p.float()
	p.literal(`,"enabled":`)
	i.Enabled = p.boolean()
	p.literal(`,"healthy":`)
	i.Healthy = p.boolean()
	if p.skip(`,"metadata":{`) {
		i.Metadata = p.pairs()
	}
	if p.skip(`,"app":`) {
		i.App = p.text()
	}
	p.literal(`}`)
}

// begin reads on with another text; what is shared stays.
func (p *plain) begin(text []byte) { p.rest, p.failed = text, false }

// done says whether everything was read.
func (p *plain) done() bool { return !p.failed && len(p.rest) == 0 }

// skip passes over text that may be there and says whether it was.
func (p *plain) skip(text string) bool {
	if p.failed || len(p.rest) < len(text) || string(p.rest[:len(text)]) != text {
		return false
	}
	p.rest = p.rest[len(text):]
	return true
}

// literal passes over text that must be there.
func (p *plain) literal(text string) {
	if !p.skip(text) {
		p.failed = true
	}
}

// quoted reads a string without escapes and returns what is between the quotes.
func (p *plain) quoted() []byte {
	p.literal(`"`)
	if p.failed {
		return nil
	}
	ascii := true
	for n, c := range p.rest {
		switch {
		case c == '"':
			text := p.rest[:n]
			p.rest = p.rest[n+1:]
			p.failed = !ascii && !utf8.Valid(text)
			return text
		case c == '\\' || c < ' ':
			p.failed = true
			return nil
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	p.failed = true
	return nil
}

// text is quoted as a string, shared with equal ones.
func (p *plain) text() string {
	b := p.quoted()
	if s, ok := p.shared[string(b)]; ok {
		return s
	}
	s := string(b)
	if p.shared != nil && len(s) <= longestShared && len(p.shared) < maxShared {
		p.shared[s] = s
	}
	return s
}

// digits reads the decimal digits of a number.
func (p *plain) digits() []byte {
	n := 0
	for n < len(p.rest) && '0' <= p.rest[n] && p.rest[n] <= '9' {
		n++
	}
	digits := p.rest[:n]
	p.rest = p.rest[n:]
	p.failed = p.failed || n == 0
	return digits
}

// whole is digits without zeros before them.
func (p *plain) whole() []byte {
	digits := p.digits()
	p.failed = p.failed || len(digits) > 1 && digits[0] == '0'
	return digits
}

func (p *plain) integer() int {
	n, err := strconv.Atoi(string(p.whole()))
	p.failed = p.failed || err != nil
	return n
}

func (p *plain) float() float64 {
	number := p.rest
	p.whole()
	if p.skip(".") {
		p.digits()
	}
	f, err := strconv.ParseFloat(string(number[:len(number)-len(p.rest)]), 64)
	p.failed = p.failed || err != nil
	return f
}

func (p *plain) boolean() bool {
	if p.skip("true") {
		return true
	}
	p.literal("false")
	return false
}

// pairs reads the members of an object up to its end.
func (p *plain) pairs() map[string]string {
	if len(p.lastPairs) > 0 && bytes.HasPrefix(p.rest, p.lastPairs) {
		p.rest = p.rest[len(p.lastPairs):]
		return p.last
	}
	text, m := p.rest, make(map[string]string)
	if p.skip(`}`) {
		return m
	}
	for {
		key := p.text()
		p.literal(`:`)
		m[key] = p.text()
		if p.failed || !p.skip(`,`) {
			break
		}
	}
	p.literal(`}`)
	if p.shared != nil && !p.failed {
		p.last, p.lastPairs = m, append(p.lastPairs[:0], text[:len(text)-len(p.rest)]...)
	}
	return m
}
