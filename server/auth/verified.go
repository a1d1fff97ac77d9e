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
	// verifiedTTL is how long after its last use a password that was right is not
	// checked again. The Node client sends it with each call, and a call must not cost
	// a bcrypt, nor wait for others who guess.
	verifiedTTL = time.Minute
	// refutedTTL is how long one that was wrong is refused without being checked and
	// counted again: a client with an old password repeats it and guesses nothing.
	refutedTTL = time.Hour
	// maxVerified bounds how many of each are remembered.
	maxVerified = 4096
)

// verified remembers which name and password fitted which hash and which did not, under a keyed
// hash of all three: never the password, and of no use to whoever sees it
// without the key, which is made at start and kept in memory only. A user who
// gets another password has another hash and so is not found; one who is deleted
// is not asked for.
type verified struct {
	key [sha256.Size]byte

	mu    sync.Mutex
	until *recent[fingerprint, time.Time]
	wrong *recent[fingerprint, time.Time]
}

type fingerprint [sha256.Size]byte

func newVerified() *verified {
	v := &verified{
		until: newRecent[fingerprint, time.Time](maxVerified),
		wrong: newRecent[fingerprint, time.Time](maxVerified),
	}
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

// has reports whether a password was right, which it then stays for another while.
func (v *verified) has(f fingerprint) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !holds(v.until, f) {
		return false
	}
	v.until.put(f, time.Now().Add(verifiedTTL))
	return true
}

// refuted reports whether a password was wrong.
func (v *verified) refuted(f fingerprint) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return holds(v.wrong, f)
}

func (v *verified) add(f fingerprint) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.until.put(f, time.Now().Add(verifiedTTL))
}

func (v *verified) refute(f fingerprint) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wrong.put(f, time.Now().Add(refutedTTL))
}

// holds reports whether an entry is there, and removes one whose time is over.
func holds(table *recent[fingerprint, time.Time], f fingerprint) bool {
	until, ok := table.get(f)
	if ok && !time.Now().Before(until) {
		table.remove(f)
		return false
	}
	return ok
}
