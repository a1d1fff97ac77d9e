package config

import (
	"regexp"
	"strings"
)

// masked stands in messages for a value that must not be shown.
const masked = "******"

// secretNames are the ends of names whose values are secrets, as uniform has them.
var secretNames = []string{
	"password", "passwd", "pwd", "passphrase", "secret", "secretkey", "secretaccesskey", "token", "apikey",
	"credential", "authorization",
	"tracingheader", // what a collector of traces asks for is a credential under any name
}

// Secret reports whether the value of a key must never be shown. A name may be
// spread over two blocks, as in token.secret.key, be written as an environment
// variable is, and stand for several: DB_PASSWORD_2, api-tokens.
func Secret(key string) bool {
	segments := strings.Split(key, ".")
	last := uniform(strings.Join(segments[max(0, len(segments)-2):], ""))
	last = strings.TrimSuffix(strings.TrimRight(last, "0123456789"), "s")
	for _, name := range secretNames {
		if strings.HasSuffix(last, name) {
			return true
		}
	}
	return false
}

// What is secret within a text. All of them rather hide too much than too little.
var (
	// login is a user and a password in an address, to its last @.
	login = regexp.MustCompile(`([a-zA-Z]+://)[^\s,]*@|[^\s,:/@]*:[^\s,]+@`)
	// argument is one with a telling name, in the query of an address, in the
	// settings of a driver or in a JSON text.
	argument = regexp.MustCompile(`(?i)([\w.-]*(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|credential)[\w.-]*["']?\s*[=:]\s*["']?)[^&;,"'\s]+`)
	// privateKey is the inside of a PEM document.
	privateKey = regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*`)
)

// withoutSecrets is a text as messages may show it.
func withoutSecrets(text string) string {
	text = privateKey.ReplaceAllString(text, "${1}"+masked)
	text = login.ReplaceAllString(text, "${1}"+masked+"@")
	return argument.ReplaceAllString(text, "${1}"+masked)
}

// Masked is the text of a key as it may be shown.
func Masked(key, text string) string {
	if text != "" && text != "{}" && Secret(key) {
		return masked
	}
	return withoutSecrets(text)
}
