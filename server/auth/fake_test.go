package auth

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// people are users in memory.
type people struct {
	mu          sync.Mutex
	hashes      map[string]string
	roles       map[string][]string
	permissions map[string][]Permission
}

func newPeople() *people {
	return &people{
		hashes:      make(map[string]string),
		roles:       make(map[string][]string),
		permissions: make(map[string][]Permission),
	}
}

func (p *people) PasswordHash(user string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hash, ok := p.hashes[user]
	return hash, ok
}

func (p *people) Roles(user string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.roles[user]
}

func (p *people) Permissions(role string) []Permission {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.permissions[role]
}

// set gives a user a password and roles, in the cheap hash of [cheap].
func (p *people) set(user, password string, roles ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hashes[user] = "cheap:" + password
	p.roles[user] = roles
}

func (p *people) remove(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.hashes, user)
	delete(p.roles, user)
}

func (p *people) allow(role, resource, action string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.permissions[role] = append(p.permissions[role], Permission{resource, action})
}

// cheap stands in for bcrypt and counts how often it is asked.
type cheap struct{ compared, unknown atomic.Int64 }

func (c *cheap) compare(hash, password string) error {
	c.compared.Add(1)
	if hash == dummyHash {
		c.unknown.Add(1)
	}
	if want, ok := strings.CutPrefix(hash, "cheap:"); !ok || want != password {
		return errors.New("mismatch")
	}
	return nil
}

type fixture struct {
	*Authenticator
	people *people
	cheap  *cheap
}

// start returns an authenticator with the users admin (an administrator), app
// (role app) and idle (no role), each with the password "<name>-secret".
func start(t testing.TB, change ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{people: newPeople(), cheap: &cheap{}}
	f.people.set("admin", "admin-secret", AdminRole)
	f.people.set("app", "app-secret", "app")
	f.people.set("idle", "idle-secret")
	o := Options{Users: f.people, Key: NewKey(), Installation: "one"}
	for _, c := range change {
		c(&o)
	}
	a, err := New(o)
	require.NoError(t, err)
	a.compare = f.cheap.compare
	f.Authenticator = a
	return f
}

var client = netip.MustParseAddr("192.0.2.1")

func password(user, pass string) Credentials {
	return Credentials{Username: user, Password: pass, Client: client}
}

// token returns a fresh token of a user of the fixture.
func (f *fixture) token(t testing.TB, user string) string {
	t.Helper()
	s, err := f.Login(context.Background(), password(user, user+"-secret"))
	require.NoError(t, err)
	return s.Token
}
