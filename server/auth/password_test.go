package auth

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

func TestPassword_HashAndCompare(t *testing.T) {
	hash, err := HashPassword("a good one")
	require.NoError(t, err)
	require.NoError(t, comparePassword(hash, "a good one"))

	_, err = HashPassword(strings.Repeat("x", 73))
	require.Error(t, err, "bcrypt would not read the end of it")
	_, err = HashPassword("eight\x00characters")
	require.Error(t, err)
}

// Users that come from a Nacos keep their hashes.
func TestPassword_HashOfNacos(t *testing.T) {
	const nacos = "$2a$10$EuWPZHzz32dJN7jexM34MOeYirDdFAZm2kuWj7VEOJhhZkDrxfvUu"
	require.NoError(t, comparePassword(nacos, "nacos"))
}

// The stand-in for unknown users is as much work as a real one.
func TestPassword_StandInCostsTheSame(t *testing.T) {
	cost, err := bcrypt.Cost([]byte(dummyHash))
	require.NoError(t, err)
	require.Equal(t, hashCost, cost)
	require.ErrorIs(t, comparePassword(dummyHash, "anything"), bcrypt.ErrMismatchedHashAndPassword)
}

func TestPassword_HashesThatAreRefused(t *testing.T) {
	costly := strings.Replace(dummyHash, "$10$", "$31$", 1)
	require.ErrorIs(t, comparePassword(costly, "anything"), errHashCost)
	for _, hash := range []string{"", "plain", "$2a$", "$2a$10$short"} {
		require.Error(t, comparePassword(hash, hash))
	}
}

// Bcrypt reads 72 bytes and takes a zero for the end, so that longer passwords
// would fit the hash of a shorter one.
func TestPassword_NoTwoFitTheSameHash(t *testing.T) {
	f := start(t)
	f.compare = func(string, string) error { return nil } // as bcrypt would say
	for _, p := range []string{strings.Repeat("x", 73), "app-secret\x00app-secret"} {
		_, err := f.Login(t.Context(), password("app", p))
		require.ErrorIs(t, err, ErrUnknownUser)
	}
}

func TestCheckPassword(t *testing.T) {
	for _, good := range []string{"password1", "correct horse", "пароль-пароль", strings.Repeat("x", 72)} {
		require.NoError(t, CheckPassword("app", good), good)
	}
	for _, bad := range []string{
		"", "nacos", "1234567", "12345678", "PassWord", strings.Repeat("x", 73), "line\nbreak", "zero\x00byte",
		"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8", "Alexandra", "пароль",
	} {
		var rule RuleError
		require.ErrorAs(t, CheckPassword("alexandra", bad), &rule, "%q", bad)
	}
}

func TestCheckUserName(t *testing.T) {
	for _, good := range []string{"a", "nacos", "username1", "zoë", "team.app_1-x@example.org", strings.Repeat("x", 64)} {
		require.NoError(t, CheckUserName(good), good)
	}
	for _, bad := range []string{"", " ", "a b", "a\n", "<script>", "a:b", "a/b", strings.Repeat("x", 65), "\xff"} {
		var rule RuleError
		require.ErrorAs(t, CheckUserName(bad), &rule, "%q", bad)
	}
}

func TestGeneratePassword(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		p := GeneratePassword()
		require.NoError(t, CheckPassword("nacos", p))
		require.GreaterOrEqual(t, len(p), 26)
		seen[p] = true
	}
	require.Len(t, seen, 100)
}
