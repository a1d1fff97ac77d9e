package consensus

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// A container is a snapshot as a stream, in the data directory and in a backup
// alike: magic, length and text of the description (JSON), checksum of all that;
// then chunks of length, checksum and data; then a chunk of length 0 with the
// total as its checksummed data. The checksum of a chunk also covers where it
// belongs, so that chunks cannot change places.
const (
	containerMagic = "RCLSNP01"
	chunkBytes     = 64 << 10
	// longestDescription bounds what is believed before a checksum was seen.
	longestDescription = 1 << 20
)

// containerWriter writes the chunks of a container.
type containerWriter struct {
	w       *bufio.Writer
	chunk   []byte
	written int64 // data bytes, without framing
}

func newContainer(w io.Writer, meta raft.SnapshotMeta) (*containerWriter, error) {
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("describe a snapshot: %w", err)
	}
	head := binary.LittleEndian.AppendUint32([]byte(containerMagic), uint32(len(text)))
	head = append(head, text...)
	head = binary.LittleEndian.AppendUint32(head, checksum(head))
	c := &containerWriter{w: bufio.NewWriterSize(w, chunkBytes+16), chunk: make([]byte, 0, chunkBytes)}
	if _, err := c.w.Write(head); err != nil {
		return nil, fmt.Errorf("write a snapshot: %w", err)
	}
	return c, nil
}

// Write implements [io.Writer].
func (c *containerWriter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(c.chunk[len(c.chunk):cap(c.chunk)], p[n:])
		c.chunk = c.chunk[:len(c.chunk)+k]
		n += k
		if len(c.chunk) == cap(c.chunk) {
			if err := c.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (c *containerWriter) flush() error {
	if len(c.chunk) == 0 {
		return nil
	}
	err := c.put(uint32(len(c.chunk)), c.chunk)
	c.written += int64(len(c.chunk))
	c.chunk = c.chunk[:0]
	return err
}

func (c *containerWriter) put(length uint32, data []byte) error {
	head := binary.LittleEndian.AppendUint32(nil, length)
	head = binary.LittleEndian.AppendUint32(head, chunkSum(c.written, data))
	_, err := c.w.Write(head)
	if err == nil {
		_, err = c.w.Write(data)
	}
	if err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	return nil
}

func chunkSum(at int64, data []byte) uint32 {
	return checksum(data) ^ checksum(binary.LittleEndian.AppendUint64(nil, uint64(at)))
}

// Close writes the end. It does not close what the container is written to.
func (c *containerWriter) Close() error {
	if err := c.flush(); err != nil {
		return err
	}
	if err := c.put(0, binary.LittleEndian.AppendUint64(nil, uint64(c.written))); err != nil {
		return err
	}
	if err := c.w.Flush(); err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	return nil
}

// containerReader reads the data of a container; what does not match is a
// [DamageError], and so is an early end.
type containerReader struct {
	meta   raft.SnapshotMeta
	name   string // of what is read, for errors
	r      *bufio.Reader
	offset int64 // of the next unread frame
	read   int64 // data bytes
	chunk  []byte
	rest   []byte // of chunk, unread
	done   bool
}

// openContainer reads the description.
func openContainer(r io.Reader, name string) (*containerReader, error) {
	c := &containerReader{name: name, r: bufio.NewReaderSize(r, chunkBytes), chunk: make([]byte, chunkBytes)}
	head := make([]byte, len(containerMagic)+4)
	if _, err := io.ReadFull(c.r, head); err != nil {
		return nil, c.short(err, "the header is cut short")
	}
	length := binary.LittleEndian.Uint32(head[len(containerMagic):])
	if string(head[:len(containerMagic)]) != containerMagic || length > longestDescription {
		return nil, c.damage("this is not a snapshot")
	}
	head = append(head, make([]byte, length+4)...)
	if _, err := io.ReadFull(c.r, head[len(containerMagic)+4:]); err != nil {
		return nil, c.short(err, "the description is cut short")
	}
	sum := len(head) - 4
	if binary.LittleEndian.Uint32(head[sum:]) != checksum(head[:sum]) {
		return nil, c.damage("the description does not match its checksum")
	}
	if err := json.Unmarshal(head[len(containerMagic)+4:sum], &c.meta); err != nil {
		return nil, c.damage("the description cannot be read: " + err.Error())
	}
	c.offset = int64(len(head))
	return c, nil
}

func (c *containerReader) damage(reason string) error {
	return &DamageError{File: c.name, Offset: c.offset, Reason: reason}
}

// short makes an early end damage and leaves other errors.
func (c *containerReader) short(err error, reason string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return c.damage(reason)
	}
	return fmt.Errorf("read %s: %w", c.name, err)
}

// Read implements [io.Reader].
func (c *containerReader) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if c.done {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *containerReader) next() error {
	var head [8]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return c.short(err, "the snapshot is cut short")
	}
	length := binary.LittleEndian.Uint32(head[:])
	last := length == 0
	if last {
		length = 8
	}
	if length > chunkBytes {
		return c.damage("a chunk is longer than any")
	}
	data := c.chunk[:length]
	if _, err := io.ReadFull(c.r, data); err != nil {
		return c.short(err, "the snapshot is cut short")
	}
	if binary.LittleEndian.Uint32(head[4:]) != chunkSum(c.read, data) {
		return c.damage("a chunk does not match its checksum")
	}
	if !last {
		c.offset += int64(len(head)) + int64(length)
		c.read += int64(length)
		c.rest = data
		return nil
	}
	if binary.LittleEndian.Uint64(data) != uint64(c.read) {
		return c.damage("the length is not what was written")
	}
	c.offset += int64(len(head)) + int64(length)
	if _, err := c.r.ReadByte(); !errors.Is(err, io.EOF) {
		return c.damage("something follows the end")
	}
	c.done = true
	return nil
}
