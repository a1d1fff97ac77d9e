package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// Types of push datagrams and of their acknowledgements.
const (
	// PushDom is the only type that every client accepts for a changed list.
	PushDom = "dom"
	// PushService is its other name, known to Java and Go.
	PushService = "service"
	// AckPush acknowledges a list.
	AckPush = "push-ack"
	// AckUnknown acknowledges a type the client does not know.
	AckUnknown = "unknown-ack"
)

const (
	// gzipFrom is the size from which Nacos compresses a datagram.
	gzipFrom = 1024
	// MaxDatagram is the largest UDP payload over IPv4.
	MaxDatagram = 65507
	// maxUnpacked bounds what a received datagram may unpack to.
	maxUnpacked = 16 << 20
)

// Push is a datagram from server to client.
type Push struct {
	Type string
	// Data is a [ServiceList] as JSON text.
	Data string
	// LastRefTime is the sequence number an ack repeats; below 2^53, because
	// JavaScript clients read it as a double.
	LastRefTime int64
}

// EncodePush returns the datagram, compressed from 1024 bytes on. It may be
// longer than [MaxDatagram]; the sender checks.
func EncodePush(p Push) []byte {
	b := make([]byte, 0, len(p.Data)+len(p.Data)/4+64)
	b = appendString(append(b, `{"type":`...), p.Type)
	b = appendString(append(b, `,"data":`...), p.Data)
	b = strconv.AppendInt(append(b, `,"lastRefTime":`...), p.LastRefTime, 10)
	b = append(b, '}')
	if len(b) < gzipFrom {
		return b
	}
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	var packed bytes.Buffer
	w.Reset(&packed)
	w.Write(b) // a bytes.Buffer never fails
	w.Close()
	return packed.Bytes()
}

// gzipWriters keeps compressors, whose tables take most of a megabyte each, from
// being made anew for every datagram.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// DecodePush reads a datagram, compressed or not. What it unpacks to is bounded.
func DecodePush(b []byte) (Push, error) {
	if len(b) > 2 && b[0] == 0x1f && b[1] == 0x8b {
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return Push{}, fmt.Errorf("unpack push: %w", err)
		}
		if b, err = io.ReadAll(io.LimitReader(r, maxUnpacked+1)); err != nil {
			return Push{}, fmt.Errorf("unpack push: %w", err)
		}
		if len(b) > maxUnpacked {
			return Push{}, fmt.Errorf("unpack push: longer than %d bytes", maxUnpacked)
		}
	}
	var d datagram
	if err := json.Unmarshal(b, &d); err != nil {
		return Push{}, fmt.Errorf("decode push: %w", err)
	}
	return Push{Type: d.Type, Data: d.Data, LastRefTime: int64(d.LastRefTime)}, nil
}

// Ack is a client's answer to a push, sent to the address it came from. Only
// LastRefTime and the sender's address identify it.
type Ack struct {
	Type        string
	LastRefTime int64
	Data        string
}

// Encode returns the datagram as Java and Go clients send it: the sequence
// number is a string.
func (a Ack) Encode() []byte {
	b := appendString(append(make([]byte, 0, len(a.Data)+64), `{"type":`...), a.Type)
	b = append(append(b, `,"lastRefTime":"`...), strconv.FormatInt(a.LastRefTime, 10)...)
	b = appendString(append(b, `","data":`...), a.Data)
	return append(b, '}')
}

// DecodeAck reads an ack; the sequence number may be a number, as Node sends it.
func DecodeAck(b []byte) (Ack, error) {
	var d datagram
	if err := json.Unmarshal(b, &d); err != nil {
		return Ack{}, fmt.Errorf("decode ack: %w", err)
	}
	return Ack{Type: d.Type, LastRefTime: int64(d.LastRefTime), Data: d.Data}, nil
}

// datagram is the common form of pushes and acks.
type datagram struct {
	Type        string  `json:"type"`
	Data        string  `json:"data"`
	LastRefTime flexInt `json:"lastRefTime"`
}
