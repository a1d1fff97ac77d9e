package auth

import (
	"strings"
	"testing"
)

// The token of each call of a Java, Go or Python client.
func BenchmarkAuthenticate_Token(b *testing.B) {
	f := start(b)
	c := Credentials{AccessToken: f.token(b, "app")}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Authenticate(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// The name and password of each call of a Node client.
func BenchmarkAuthenticate_Password(b *testing.B) {
	f := start(b)
	c := password("app", "app-secret")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Authenticate(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuthorize(b *testing.B) {
	f := start(b)
	for range 20 {
		f.people.allow("app", "elsewhere:*:naming/*", "rw")
	}
	f.people.allow("app", ":*:*", "rw")
	r := NamingResource("", "DEFAULT_GROUP", "orders")
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Authorize(Principal{Name: "app"}, r, Write); err != nil {
			b.Fatal(err)
		}
	}
}

// The worst a pattern can cost.
func BenchmarkMatch_Worst(b *testing.B) {
	pattern, text := "*"+strings.Repeat("a", 256)+"b", strings.Repeat("a", 512)
	b.ReportAllocs()
	for b.Loop() {
		match(pattern, text)
	}
}
