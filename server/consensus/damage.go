package consensus

import (
	"fmt"
	"hash/crc32"
)

// DamageError says that stored data is not what was written. Nothing is repaired
// or skipped: a single node that finds one does not start (server case SB-22).
type DamageError struct {
	// File is the path, or what is being read.
	File string
	// Offset is where in the file the first byte is that cannot be trusted.
	Offset int64
	// Reason is what is wrong there.
	Reason string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("damaged data in %s at offset %d: %s", e.File, e.Offset, e.Reason)
}

// castagnoli is the polynomial of all checksums here; processors have an
// instruction for it.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }
