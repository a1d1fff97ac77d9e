package testserver

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// AuthOn is the setting with which a server asks who its callers are.
const AuthOn = "NACOS_CORE_AUTH_ENABLED=true"

// Login makes every further Call that of the administrator whom a server with
// [AuthOn] made at its first start.
func (s *Server) Login(t testing.TB) {
	t.Helper()
	password, err := os.ReadFile(filepath.Join(s.dir, "rollcall-data", "initial-password"))
	if err != nil {
		t.Fatalf("read the administrator's password: %v", err)
	}
	answer := s.mustCall(t, "/v1/auth/login", url.Values{
		"username": {"nacos"}, "password": {strings.TrimSpace(string(password))},
	})
	var session struct {
		AccessToken string `json:"accessToken"`
	}
	if err := json.Unmarshal([]byte(answer), &session); err != nil || session.AccessToken == "" {
		t.Fatalf("no token in %s: %v", answer, err)
	}
	s.token = session.AccessToken
}

// CreateUser makes a user who may read and write what permissions of the form
// "namespace:group:resource" cover, and nothing else. See [Server.Login].
func (s *Server) CreateUser(t testing.TB, name, password, permission string) {
	t.Helper()
	role := "role-of-" + name
	s.mustCall(t, "/v1/auth/users", url.Values{"username": {name}, "password": {password}})
	s.mustCall(t, "/v1/auth/roles", url.Values{"username": {name}, "role": {role}})
	s.mustCall(t, "/v1/auth/permissions", url.Values{"role": {role}, "resource": {permission}, "action": {"rw"}})
}

func (s *Server) mustCall(t testing.TB, path string, params url.Values) string {
	t.Helper()
	answer, err := s.Call(http.MethodPost, path, params)
	if err != nil {
		t.Fatalf("POST %s: %v", path, err)
	}
	return answer
}
