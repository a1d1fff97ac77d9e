package auth

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// One client with an old password, or one who guesses, locks out its own network
// and nobody else.
func TestLogin_GuessingIsLimitedByNameAndNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		for i := range pairBurst {
			_, err := f.Login(t.Context(), password("app", fmt.Sprint("guess", i)))
			require.ErrorIs(t, err, ErrUnknownUser)
		}
		// The right one is not looked at either: who guesses learns nothing.
		for _, guess := range []string{"guess", "app-secret"} {
			var limited *TooManyError
			_, err := f.Login(t.Context(), password("app", guess))
			require.ErrorAs(t, err, &limited)
			require.InDelta(t, pairRefill.Seconds(), limited.RetryAfter.Seconds(), 0.01)
		}
		require.EqualValues(t, pairBurst, f.cheap.compared.Load())

		_, err := f.Login(t.Context(), password("admin", "admin-secret"))
		require.NoError(t, err, "other users are not concerned")
		_, err = f.Login(t.Context(), Credentials{
			Username: "idle", Password: "idle-secret", Client: netip.MustParseAddr("198.51.100.7"),
		})
		require.NoError(t, err)
		_, err = f.Login(t.Context(), Credentials{
			Username: "app", Password: "app-secret", Client: netip.MustParseAddr("198.51.100.7"),
		})
		require.NoError(t, err, "nor the same user elsewhere")

		time.Sleep(pairRefill + verifiedTTL)
		_, err = f.Login(t.Context(), password("app", "app-secret"))
		require.NoError(t, err)
	})
}

// Guessing from many networks has an end, too.
func TestLogin_GuessingIsLimitedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		from := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)}) }
		for i := range nameBurst {
			_, err := f.Login(t.Context(), Credentials{Username: "app", Password: fmt.Sprint("guess", i), Client: from(i)})
			require.ErrorIs(t, err, ErrUnknownUser)
		}
		for _, guess := range []string{"guess", "app-secret"} {
			var limited *TooManyError
			_, err := f.Login(t.Context(), Credentials{Username: "app", Password: guess, Client: from(nameBurst)})
			require.ErrorAs(t, err, &limited)
			require.InDelta(t, nameRefill.Seconds(), limited.RetryAfter.Seconds(), 0.01)
		}
		require.EqualValues(t, nameBurst, f.cheap.compared.Load())
		time.Sleep(nameRefill + time.Millisecond)
		_, err := f.Login(t.Context(), password("app", "app-secret"))
		require.NoError(t, err)
	})
}

// Whoever guesses from many networks for as long as he likes does not keep the
// user out: not from where the right password came from before. From there, too,
// guessing has its own limit, and the network is trusted for that name alone.
func TestSB18_NobodyIsLockedOutFromAfar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		home := netip.MustParseAddr("203.0.113.9")
		at := func(name, password string) error {
			_, err := f.Login(t.Context(), Credentials{Username: name, Password: password, Client: home})
			return err
		}
		require.NoError(t, at("app", "app-secret"))
		time.Sleep(24 * time.Hour) // what was right is long forgotten
		networks := 0
		flood := func(name string) {
			for range nameBurst + 1 {
				networks++
				_, err := f.Login(t.Context(), Credentials{
					Username: name, Password: fmt.Sprint("guess", networks),
					Client: netip.AddrFrom4([4]byte{198, byte(networks >> 16), byte(networks >> 8), byte(networks)}),
				})
				require.Error(t, err)
			}
		}
		flood("app")
		flood("admin")
		var limited *TooManyError
		_, err := f.Login(t.Context(), password("app", "app-secret"))
		require.ErrorAs(t, err, &limited, "from anywhere else")
		require.ErrorAs(t, at("admin", "admin-secret"), &limited, "another name from there")
		require.NoError(t, at("app", "app-secret"))
		for i := range pairBurst {
			require.ErrorIs(t, at("app", fmt.Sprint("forgotten", i)), ErrUnknownUser)
		}
		require.ErrorAs(t, at("app", "one too many"), &limited)
	})
}

// The same wrong password over and over is a client with an old one: refused each
// time, checked and counted once, whether the user exists or not.
func TestLogin_TheSameWrongPasswordCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		for _, name := range []string{"app", "nobody"} {
			before := f.cheap.compared.Load()
			for range 10 * nameBurst {
				_, err := f.Login(t.Context(), password(name, "old-secret"))
				require.ErrorIs(t, err, ErrUnknownUser)
			}
			require.EqualValues(t, 1, f.cheap.compared.Load()-before)
		}
		_, err := f.Login(t.Context(), password("app", "app-secret"))
		require.NoError(t, err, "the same network, with the right one")

		f.people.set("app", "old-secret", "app")
		_, err = f.Login(t.Context(), password("app", "old-secret"))
		require.NoError(t, err, "what was wrong has become right")
	})
}

// Names that do not exist are limited like those that do, or the limit itself
// would tell them apart.
func TestLogin_GuessingIsLimitedForUnknownNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		for i := range pairBurst {
			_, err := f.Login(t.Context(), password("nobody", fmt.Sprint("guess", i)))
			require.ErrorIs(t, err, ErrUnknownUser)
		}
		var limited *TooManyError
		_, err := f.Login(t.Context(), password("nobody", "guess"))
		require.ErrorAs(t, err, &limited)
	})
}

func TestLogin_GuessingIsLimitedByAddress(t *testing.T) {
	for name, address := range map[string]func(i int) netip.Addr{
		"IPv4": func(int) netip.Addr { return netip.MustParseAddr("192.0.2.7") },
		"IPv4 in six": func(i int) netip.Addr {
			return netip.MustParseAddr([]string{"192.0.2.7", "::ffff:192.0.2.7"}[i%2])
		},
		"a /64": func(i int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t)
				for i := range addressBurst {
					_, err := f.Login(t.Context(), Credentials{Username: fmt.Sprint("user", i), Password: "x", Client: address(i)})
					require.ErrorIs(t, err, ErrUnknownUser)
				}
				var limited *TooManyError
				_, err := f.Login(t.Context(), Credentials{Username: "app", Password: "app-secret", Client: address(1000)})
				require.ErrorAs(t, err, &limited)
				_, err = f.Login(t.Context(), password("app", "app-secret"))
				require.NoError(t, err, "another address")
			})
		})
	}
}

// A fleet that shares one user and starts at once is no attack, and who knows the
// password is not locked out by others' guesses while it is remembered.
func TestLogin_RightPasswordsAreNotLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		for range 1000 {
			_, err := f.Login(t.Context(), password("app", "app-secret"))
			require.NoError(t, err)
		}
		for i := range 2 * pairBurst {
			_, _ = f.Login(t.Context(), password("app", fmt.Sprint("guess", i)))
		}
		_, err := f.Login(t.Context(), password("app", "app-secret"))
		require.NoError(t, err)
	})
}

// What a flood of names and addresses leaves behind is bounded.
func TestLogin_LimitIsBounded(t *testing.T) {
	g := newGuessLimit()
	for i := range 3 * maxLimited {
		from := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		g.wrong(fmt.Sprint(i), from)
		g.right(fmt.Sprint(i), from)
	}
	require.Equal(t, maxLimited, g.trusted.len())
	require.Equal(t, maxLimited, g.names.len())
	require.Equal(t, maxLimited, g.addresses.len())
	require.Equal(t, maxLimited, g.pairs.len())
	require.Equal(t, maxLimited, g.names.order.Len())
}
