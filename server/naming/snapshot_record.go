package naming

import (
	"encoding/binary"
	"math"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Bits of a record in a snapshot: its truth values, and which of the members
// follow that need not.
const (
	bitHealthy = 1 << iota
	bitEnabled
	bitOverridden // an override follows
	bitSinceIsVersion
)

// Bits of an override.
const (
	bitSetsEnabled = 1 << iota
	bitSetsWeight
	bitSetsApp
	bitEnables // the value of Enabled
)

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendNumber(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}

func appendVersion(b []byte, v Version) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, v.Clock), uint64(v.Node))
}

func appendService(b []byte, k wire.ServiceKey) []byte {
	return appendText(appendText(appendText(b, k.Namespace), k.Group), k.Name)
}

// appendRecord appends an ephemeral instance.
func appendRecord(b []byte, i *Instance) []byte {
	reg, ovr := &i.record.reg, &i.record.ovr
	bits := uint64(0)
	if i.Healthy {
		bits |= bitHealthy
	}
	if reg.Enabled {
		bits |= bitEnabled
	}
	if ovr.Version != (Version{}) {
		bits |= bitOverridden
	}
	if reg.Since == reg.Version {
		bits |= bitSinceIsVersion
	}
	b = binary.AppendUvarint(b, bits)
	b = appendText(appendText(b, i.Cluster), i.IP)
	b = binary.AppendUvarint(b, uint64(i.Port))
	b = appendText(b, i.ID)
	b = appendVersion(b, reg.Version)
	if bits&bitSinceIsVersion == 0 {
		b = appendVersion(b, reg.Since)
	}
	b = appendText(appendNumber(b, reg.Weight), reg.App)
	b = binary.AppendUvarint(b, uint64(len(reg.Metadata)))
	for key, value := range reg.Metadata {
		b = appendText(appendText(b, key), value)
	}
	if bits&bitOverridden != 0 {
		b = appendOverride(b, ovr)
	}
	return b
}

func appendOverride(b []byte, o *Override) []byte {
	bits := uint64(0)
	if o.Enabled != nil {
		bits |= bitSetsEnabled
		if *o.Enabled {
			bits |= bitEnables
		}
	}
	if o.Weight != nil {
		bits |= bitSetsWeight
	}
	if o.App != nil {
		bits |= bitSetsApp
	}
	b = appendVersion(binary.AppendUvarint(b, bits), o.Version)
	if o.Weight != nil {
		b = appendNumber(b, *o.Weight)
	}
	if o.App != nil {
		b = appendText(b, *o.App)
	}
	b = binary.AppendUvarint(b, uint64(len(o.Metadata)))
	for key, value := range o.Metadata {
		b = appendText(b, key)
		if value == nil {
			b = append(b, 0)
		} else {
			b = appendText(append(b, 1), *value)
		}
	}
	return b
}

// frameReader reads what the functions above append. Past the first thing that
// cannot be, failed is set and all it returns is zero.
type frameReader struct {
	rest   []byte
	failed bool
	names  interned
}

// interned shares the memory of texts that many records have: clusters,
// applications, metadata keys.
type interned map[string]string

const maxInterned = 4096

func (m interned) text(b []byte) string {
	if s, ok := m[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(m) < maxInterned {
		m[s] = s
	}
	return s
}

func (b *frameReader) fail() { b.failed, b.rest = true, nil }

func (b *frameReader) uvarint() uint64 {
	n, size := binary.Uvarint(b.rest)
	if size <= 0 {
		b.fail()
		return 0
	}
	b.rest = b.rest[size:]
	return n
}

// limited reads a number of at most most.
func (b *frameReader) limited(most uint64) uint64 {
	n := b.uvarint()
	if n > most {
		b.fail()
		return 0
	}
	return n
}

func (b *frameReader) bytes(n uint64) []byte {
	if n > uint64(len(b.rest)) {
		b.fail()
		return nil
	}
	taken := b.rest[:n]
	b.rest = b.rest[n:]
	return taken
}

func (b *frameReader) text() string   { return string(b.bytes(b.uvarint())) }
func (b *frameReader) common() string { return b.names.text(b.bytes(b.uvarint())) }

func (b *frameReader) number() float64 {
	if bits := b.bytes(8); bits != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(bits))
	}
	return 0
}

func (b *frameReader) clock() uint64 { return b.limited(maxClock) }

func (b *frameReader) version() Version {
	return Version{Clock: b.clock(), Node: uint16(b.limited(math.MaxUint16))}
}

func (b *frameReader) service() wire.ServiceKey {
	return wire.ServiceKey{
		Namespace:   b.common(),
		ServiceName: wire.ServiceName{Group: b.common(), Name: b.text()},
	}
}

func (b *frameReader) record() Record {
	bits := b.uvarint()
	r := Record{Healthy: bits&bitHealthy != 0}
	r.InstanceKey = InstanceKey{Cluster: b.common(), IP: b.text(), Port: int(b.limited(math.MaxUint16))}
	r.ID = b.text()
	reg := &r.Registered
	reg.Enabled = bits&bitEnabled != 0
	reg.Version = b.version()
	reg.Since = reg.Version
	if bits&bitSinceIsVersion == 0 {
		reg.Since = b.version()
	}
	reg.Weight, reg.App = b.number(), b.common()
	pairs := b.limited(uint64(len(b.rest))) // each takes more than a byte
	reg.Metadata = make(map[string]string, min(pairs, 64))
	for range pairs {
		key := b.common()
		reg.Metadata[key] = b.text()
		if b.failed {
			break
		}
	}
	if bits&bitOverridden != 0 {
		r.Override = b.override()
	}
	return r
}

func (b *frameReader) override() Override {
	bits := b.uvarint()
	o := Override{Version: b.version()}
	if bits&bitSetsEnabled != 0 {
		o.Enabled = new(bits&bitEnables != 0)
	}
	if bits&bitSetsWeight != 0 {
		o.Weight = new(b.number())
	}
	if bits&bitSetsApp != 0 {
		o.App = new(b.common())
	}
	for range b.limited(uint64(len(b.rest))) {
		key := b.common()
		var value *string
		if b.limited(1) == 1 {
			value = new(b.text())
		}
		if b.failed {
			break
		}
		o.setMetadata(key, value)
	}
	return o
}
