package auth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"
)

const (
	// hashCost is the work of one bcrypt hash, Nacos' own; the stand-in for
	// unknown users has the same.
	hashCost = bcrypt.DefaultCost
	// maxHashCost bounds the work a hash that came from elsewhere can ask for.
	maxHashCost = 14

	minPasswordLength = 8  // in characters
	maxPasswordSize   = 72 // in bytes: bcrypt reads no more
	maxNameSize       = 64 // in bytes
)

// dummyHash is compared with when there is no such user, so that the answer
// takes as long as for one who exists. No password was kept that fits it.
const dummyHash = "$2a$10$JHymL6D9qGr1drl/HQwEnODJrAi2M/fZjAM9r7IBMgsPd8Bo/IxfO"

// weakPasswords are refused for new users, whatever their case.
var weakPasswords = []string{
	"nacosnacos", "password", "12345678", "123456789", "1234567890", "87654321", "11111111", "00000000",
	"88888888", "qwertyui", "qwertyuiop", "1qaz2wsx", "abcd1234", "admin123", "adminadmin", "changeme", "rollcall",
}

// CheckUserName says whether a new user may have this name, by a [RuleError] if
// not: up to 64 bytes of letters, digits, '.', '_', '-' and '@'. Users who exist
// already are not asked.
func CheckUserName(name string) error {
	switch {
	case name == "":
		return RuleError("a user name is needed")
	case len(name) > maxNameSize:
		return RuleError(fmt.Sprintf("a user name has at most %d bytes", maxNameSize))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, notUserNameRune):
		return RuleError("a user name can only have letters, digits, '.', '_', '-' and '@'")
	}
	return nil
}

func notUserNameRune(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-@", r)
}

// CheckPassword says whether a user may have this new password, by a [RuleError]
// if not: at least eight characters, at most 72 bytes, printable, not the name
// and not one of those that are guessed first.
func CheckPassword(user, password string) error {
	switch {
	case utf8.RuneCountInString(password) < minPasswordLength:
		return RuleError(fmt.Sprintf("a password has at least %d characters", minPasswordLength))
	case len(password) > maxPasswordSize:
		return RuleError(fmt.Sprintf("a password has at most %d bytes", maxPasswordSize))
	case !utf8.ValidString(password) || strings.ContainsFunc(password, unicode.IsControl):
		return RuleError("a password has no control characters")
	case strings.EqualFold(password, user):
		return RuleError("a password is not the user's name")
	}
	for _, weak := range weakPasswords {
		if strings.EqualFold(password, weak) {
			return RuleError("this password is among the first that are guessed")
		}
	}
	return nil
}

// HashPassword returns the bcrypt hash of a password, for [Users] to keep. It
// takes tens of milliseconds of a processor. [CheckPassword] comes first.
func HashPassword(password string) (string, error) {
	if !hashable(password) {
		return "", RuleError("this password cannot be hashed")
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), hashCost)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return string(hash), nil
}

// GeneratePassword returns a random password of 26 letters and digits, which
// nobody guesses (130 bits).
func GeneratePassword() string { return rand.Text() }

// hashable says whether bcrypt tells this password from all others: it stops
// reading at 72 bytes and takes a zero byte for the end.
func hashable(password string) bool {
	return len(password) <= maxPasswordSize && strings.IndexByte(password, 0) < 0
}

var errHashCost = errors.New("the password hash asks for too much work")

// comparePassword is the only place where a password meets a hash.
func comparePassword(hash, password string) error {
	cost, err := bcrypt.Cost([]byte(hash))
	if err != nil {
		return fmt.Errorf("read a password hash: %w", err)
	}
	if cost > maxHashCost {
		return errHashCost
	}
	return bcrypt.CompareHashAndPassword([]byte(hash), []byte(password))
}
