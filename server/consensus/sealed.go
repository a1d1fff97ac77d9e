package consensus

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// A sealed file is a small one that is replaced as a whole with every change: a
// header of sealHeader bytes and a value as JSON. All numbers are little endian.
//
//	 0  magic
//	 4  version of the format
//	 8  length of the value
//	12  checksum of the value
//	16  checksum of the bytes before
const sealHeader = 20

// seal is a kind of sealed files.
type seal struct {
	magic, format uint32
	// what the value is, for errors.
	what string
}

// encode returns the content of a file that holds the value.
func (s seal) encode(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", s.what, err)
	}
	content := binary.LittleEndian.AppendUint32(nil, s.magic)
	content = binary.LittleEndian.AppendUint32(content, s.format)
	content = binary.LittleEndian.AppendUint32(content, uint32(len(text)))
	content = binary.LittleEndian.AppendUint32(content, checksum(text))
	content = binary.LittleEndian.AppendUint32(content, checksum(content))
	return append(content, text...), nil
}

// decode reads the content of a file into the value. path is for errors.
func (s seal) decode(path string, content []byte, value any) error {
	damage := func(offset int, format string) error {
		return &DamageError{File: path, Offset: int64(offset), Reason: fmt.Sprintf(format, s.what)}
	}
	if len(content) < sealHeader {
		return damage(len(content), "the header of %s is cut short")
	}
	if binary.LittleEndian.Uint32(content) != s.magic {
		return damage(0, "this is not the header of %s")
	}
	if binary.LittleEndian.Uint32(content[16:]) != checksum(content[:16]) {
		return damage(0, "the header of %s does not match its checksum")
	}
	if version := binary.LittleEndian.Uint32(content[4:]); version != s.format {
		return fmt.Errorf("%s in %s: this is format %d; this version of the server reads format %d", s.what, path, version, s.format)
	}
	text := content[sealHeader:]
	length := uint64(binary.LittleEndian.Uint32(content[8:]))
	switch {
	case uint64(len(text)) < length:
		return damage(len(content), "the end of %s is cut off")
	case uint64(len(text)) > length:
		return damage(sealHeader+int(length), "something follows %s")
	case binary.LittleEndian.Uint32(content[12:]) != checksum(text):
		return damage(sealHeader, "%s: the value does not match its checksum")
	}
	if err := json.Unmarshal(text, value); err != nil {
		return damage(sealHeader, "%s: the value cannot be read")
	}
	return nil
}
