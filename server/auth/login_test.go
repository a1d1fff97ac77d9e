package auth

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestLogin(t *testing.T) {
	f := start(t)
	ctx := t.Context()

	s, err := f.Login(ctx, password("admin", "admin-secret"))
	require.NoError(t, err)
	require.Equal(t, "admin", s.User)
	require.Equal(t, 18000*time.Second, s.TTL)
	require.True(t, s.GlobalAdmin)

	s, err = f.Login(ctx, password("app", "app-secret"))
	require.NoError(t, err)
	require.False(t, s.GlobalAdmin)
	p, err := f.Authenticate(ctx, Credentials{AccessToken: s.Token})
	require.NoError(t, err)
	require.Equal(t, Principal{Name: "app"}, p)

	for name, c := range map[string]Credentials{
		"nothing":             {},
		"wrong password":      password("app", "other"),
		"no password":         password("app", ""),
		"no name":             password("", "app-secret"),
		"unknown user":        password("nobody", "app-secret"),
		"default of Nacos":    password("nacos", "nacos"),
		"other case":          password("App", "app-secret"),
		"name beyond reason":  password(strings.Repeat("a", 10_000), "app-secret"),
		"password with a NUL": password("app", "app-secret\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.Login(ctx, c)
			require.ErrorIs(t, err, ErrUnknownUser)
			require.EqualError(t, err, "unknown user!")
		})
	}
}

// A login that carries a token is judged by the token, and a token does not renew
// itself: a stolen one ends when it would have ended.
func TestLogin_TokenIsJudgedInsteadOfThePassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		token := f.token(t, "app")
		time.Sleep(time.Hour)

		s, err := f.Login(t.Context(), Credentials{AccessToken: token, Username: "admin", Password: "admin-secret"})
		require.NoError(t, err)
		require.Equal(t, Session{User: "app", Token: token, TTL: 4 * time.Hour}, s)

		_, err = f.Login(t.Context(), Credentials{Authorization: "Bearer nonsense", Username: "app", Password: "app-secret"})
		require.ErrorIs(t, err, ErrTokenInvalid)
	})
}

// A name that does not exist costs what one costs that does, and the answer is
// the same.
func TestLogin_UnknownUserCostsTheSame(t *testing.T) {
	f := start(t)
	_, errUnknown := f.Login(t.Context(), password("nobody", "guess"))
	require.EqualValues(t, 1, f.cheap.compared.Load())
	require.EqualValues(t, 1, f.cheap.unknown.Load())
	_, errWrong := f.Login(t.Context(), password("app", "guess"))
	require.EqualValues(t, 2, f.cheap.compared.Load())
	require.Equal(t, errUnknown, errWrong)
}

// The Node client sends name and password with each call, which costs one bcrypt
// and not one per call; after a minute without a call it is checked again.
func TestAuthenticate_PasswordThatIsUsedIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		for range 13 {
			p, err := f.Authenticate(t.Context(), password("app", "app-secret"))
			require.NoError(t, err)
			require.Equal(t, "app", p.Name)
			time.Sleep(verifiedTTL - time.Second)
		}
		require.EqualValues(t, 1, f.cheap.compared.Load())
		time.Sleep(time.Second)
		_, err := f.Authenticate(t.Context(), password("app", "app-secret"))
		require.NoError(t, err)
		require.EqualValues(t, 2, f.cheap.compared.Load())
	})
}

func TestAuthenticate_ChangedUserIsNotRemembered(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	_, err := f.Authenticate(ctx, password("app", "app-secret"))
	require.NoError(t, err)

	f.people.set("app", "changed", "app")
	_, err = f.Authenticate(ctx, password("app", "app-secret"))
	require.ErrorIs(t, err, ErrUnknownUser)
	_, err = f.Authenticate(ctx, password("app", "changed"))
	require.NoError(t, err)

	f.people.remove("app")
	_, err = f.Authenticate(ctx, password("app", "changed"))
	require.ErrorIs(t, err, ErrUnknownUser)
}

// The memory of right passwords is bounded and holds no password.
func TestVerified(t *testing.T) {
	v := newVerified()
	for i := range 2 * maxVerified {
		v.add(v.fingerprint("app", fmt.Sprint(i), "hash"))
		v.refute(v.fingerprint("app", fmt.Sprint(i), "hash"))
	}
	require.Equal(t, maxVerified, v.wrong.len())
	require.Equal(t, maxVerified, v.until.len())

	fingerprints := map[fingerprint]bool{}
	for _, parts := range [][3]string{{"a", "bc", "d"}, {"ab", "c", "d"}, {"a", "b", "cd"}, {"abc", "d", ""}, {"", "abcd", ""}} {
		fingerprints[v.fingerprint(parts[0], parts[1], parts[2])] = true
	}
	require.Len(t, fingerprints, 5, "where one part ends and the next begins counts")
	require.NotEqual(t, v.fingerprint("a", "b", "c"), newVerified().fingerprint("a", "b", "c"), "another process, another key")
}

// Passwords wait for their turn, and whoever goes away meanwhile is not waited
// for.
func TestLogin_PasswordsAreCheckedAFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		release := make(chan struct{})
		var mu sync.Mutex
		busy, most := 0, 0
		f.compare = func(hash, password string) error {
			mu.Lock()
			busy++
			most = max(most, busy)
			mu.Unlock()
			<-release
			mu.Lock()
			busy--
			mu.Unlock()
			return f.cheap.compare(hash, password)
		}
		var running sync.WaitGroup
		for range 2 * cap(f.turn) {
			running.Go(func() { _, _ = f.Login(t.Context(), password("app", "app-secret")) })
		}
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := f.Login(ctx, password("app", "app-secret"))
		require.ErrorIs(t, err, context.DeadlineExceeded)

		var limited *TooManyError
		_, err = f.Login(t.Context(), password("app", "app-secret"))
		require.ErrorAs(t, err, &limited)

		close(release)
		running.Wait()
		require.Equal(t, cap(f.turn), most)
	})
}

// Who waited for a turn has the answer of the one before.
func TestLogin_OneCheckForManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		release := make(chan struct{})
		f.compare = func(hash, password string) error {
			<-release
			return f.cheap.compare(hash, password)
		}
		var running sync.WaitGroup
		for range 10 * cap(f.turn) {
			running.Go(func() {
				if _, err := f.Login(t.Context(), password("app", "app-secret")); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(release)
		running.Wait()
		require.EqualValues(t, cap(f.turn), f.cheap.compared.Load())
	})
}

// SB-17: what a request says about itself is not even asked for.
func TestSB17_NoHeaderGivesTrust(t *testing.T) {
	var fields []string
	for field := range reflect.TypeFor[Credentials]().Fields() {
		fields = append(fields, field.Name)
	}
	require.Equal(t, []string{"Authorization", "AccessToken", "HeaderToken", "Username", "Password", "Client"}, fields)

	f := start(t)
	for _, c := range []Credentials{
		{Client: netip.MustParseAddr("127.0.0.1")},
		{Client: netip.IPv6Loopback()},
		{Authorization: "Nacos-Server", Client: client},
		{Authorization: "nacos-server:v1.4.1", Client: client},
		{Username: "Nacos-Server", Client: client},
		{Username: "", Password: "serverIdentity", Client: client},
	} {
		_, err := f.Authenticate(t.Context(), c)
		require.ErrorIs(t, err, ErrUnknownUser, "%+v", c)
	}
	require.ErrorIs(t, f.Authorize(Principal{}, NamingResource("", "g", "s"), Read), ErrNotAuthorized)
	require.False(t, f.IsAdmin(Principal{}))
}

// SB-19: what comes back repeats nothing that was sent, and the log only a part.
func TestSB19_RefusalsRepeatNoInput(t *testing.T) {
	var log bytes.Buffer
	f := start(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	markup := `"><script>alert(1)</script>` + "\nlevel=ERROR " + strings.Repeat("x", 200)
	for _, c := range []Credentials{
		password(markup, "hidden-guess"), {AccessToken: markup}, {Authorization: "Bearer " + markup}, {HeaderToken: markup},
	} {
		_, err := f.Login(t.Context(), c)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "script")
	}
	require.NotContains(t, log.String(), "hidden-guess")
	require.Equal(t, 1, strings.Count(log.String(), "\n"), "one line, whatever the name holds")
	require.Less(t, log.Len(), 400)
}

func TestMetrics_LoginsByOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		f := start(t, func(o *Options) { o.Registerer = r })
		ctx := t.Context()
		token := f.token(t, "idle")
		for i := range pairBurst + 2 {
			_, _ = f.Login(ctx, password("app", fmt.Sprint("guess", i)))
		}
		_, _ = f.Authenticate(ctx, Credentials{})
		_, _ = f.Authenticate(ctx, Credentials{AccessToken: "x"})
		_ = f.Authorize(Principal{Name: "idle"}, NamingResource("", "g", "s"), Read)
		_ = f.Authorize(Principal{Name: "idle"}, Resource{}, Read)
		_, err := f.Authenticate(ctx, Credentials{AccessToken: token})
		require.NoError(t, err)

		require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(`
# HELP rollcall_auth_logins_total Logins by outcome: success, refused (wrong name, password or token), limited (not looked at, as too many were wrong).
# TYPE rollcall_auth_logins_total counter
rollcall_auth_logins_total{outcome="limited"} 2
rollcall_auth_logins_total{outcome="refused"} 10
rollcall_auth_logins_total{outcome="success"} 1
# HELP rollcall_auth_passwords_checked_total Passwords that cost a bcrypt, for logins and for calls that carry a password.
# TYPE rollcall_auth_passwords_checked_total counter
rollcall_auth_passwords_checked_total 11
# HELP rollcall_auth_refused_total Calls that were refused, by reason: credentials, token, expired, permission, resource, limited.
# TYPE rollcall_auth_refused_total counter
rollcall_auth_refused_total{reason="credentials"} 1
rollcall_auth_refused_total{reason="expired"} 0
rollcall_auth_refused_total{reason="limited"} 0
rollcall_auth_refused_total{reason="permission"} 1
rollcall_auth_refused_total{reason="resource"} 1
rollcall_auth_refused_total{reason="token"} 1
`)))

		_, err = New(Options{Users: f.people, Key: NewKey(), Installation: "one", Registerer: r})

		require.Error(t, err, "the same metrics twice")
	})
}

func TestNew_RefusesWhatIsMissing(t *testing.T) {
	good := Options{Users: newPeople(), Key: NewKey(), Installation: "one"}
	for name, spoil := range map[string]func(*Options){
		"users":        func(o *Options) { o.Users = nil },
		"key":          func(o *Options) { o.Key = Key{} },
		"installation": func(o *Options) { o.Installation = "" },
		"ttl":          func(o *Options) { o.TokenTTL = time.Millisecond },
		"negative ttl": func(o *Options) { o.TokenTTL = -time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			spoil(&o)
			_, err := New(o)
			require.Error(t, err)
		})
	}
}
