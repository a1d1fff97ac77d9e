package testutil

import (
	"fmt"
	"net/http"
	"time"
)

type fakeLogin struct {
	username, password string
	ttl                time.Duration
	issued             int
	expires            map[string]time.Time
}

// RequireLogin has every call but the login need a token, which lives for ttl
// (whole seconds on the wire).
func (f *FakeNacos) RequireLogin(username, password string, ttl time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.login = &fakeLogin{username: username, password: password, ttl: ttl, expires: make(map[string]time.Time)}
}

// RevokeTokens has the tokens given out so far refused.
func (f *FakeNacos) RevokeTokens() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.login.expires)
}

func (l *fakeLogin) admits(token string) bool {
	return l == nil || time.Now().Before(l.expires[token])
}

func (f *FakeNacos) answerLogin(r Request) (int, any) {
	l := f.login
	if l == nil {
		return http.StatusOK, map[string]any{"accessToken": "", "tokenTtl": 18000}
	}
	if r.Param("username") != l.username || r.Param("password") != l.password {
		return http.StatusForbidden, "unknown user!"
	}
	l.issued++
	token := fmt.Sprintf("token-%d", l.issued)
	l.expires[token] = time.Now().Add(l.ttl)
	return http.StatusOK, map[string]any{
		"accessToken": token, "tokenTtl": int64(l.ttl / time.Second), "globalAdmin": true,
	}
}
