package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"
)

const (
	// verifiedTTL is how long a password that was right is not checked again. The
	// Node client sends it with each call, and a call must not cost a bcrypt.
	verifiedTTL = time.Minute
	// maxVerified bounds how many are remembered.
	maxVerified = 4096
)

// verified remembers which name and password fitted which hash, under a keyed
// hash of all three: never the password, and of no use to whoever sees it
// without the key, which is made at start and kept in memory only. A user who
// gets another password has another hash and so is not found; one who is deleted
// is not asked for.
type verified struct {
	key [sha256.Size]byte

	mu    sync.Mutex
	until *recent[fingerprint, time.Time]
}

type fingerprint [sha256.Size]byte

func newVerified() *verified {
	v := &verified{until: newRecent[fingerprint, time.Time](maxVerified)}
	_, _ = rand.Read(v.key[:]) // never fails
	return v
}

func (v *verified) fingerprint(name, password, hash string) (f fingerprint) {
	m := hmac.New(sha256.New, v.key[:])
	for _, text := range [...]string{name, password, hash} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		m.Write(size[:])
		m.Write([]byte(text))
	}
	m.Sum(f[:0])
	return f
}

func (v *verified) has(f fingerprint) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	until, ok := v.until.get(f)
	if ok && !time.Now().Before(until) {
		v.until.remove(f)
		return false
	}
	return ok
}

func (v *verified) add(f fingerprint) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.until.put(f, time.Now().Add(verifiedTTL))
}
