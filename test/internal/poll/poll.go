// Package poll waits for what a test waits for: it asks again and again, with a
// deadline, and says at the end what the last answer was.
package poll

import (
	"testing"
	"time"
)

// step is the pause between two looks: short beside the second or so that the
// tested timeouts last, long beside one request.
const step = 25 * time.Millisecond

// Until looks until check returns nil and returns how long that took. It fails
// the test with check's last error when that takes longer than within.
func Until(t testing.TB, within time.Duration, check func() error) time.Duration {
	t.Helper()
	start := time.Now()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return time.Since(start)
		}
		if time.Since(start) > within {
			t.Fatalf("not within %v: %v", within, err)
		}
		<-ticker.C
	}
}

// While looks for as long as during says and fails the test at the first error.
func While(t testing.TB, during time.Duration, check func() error) {
	t.Helper()
	start := time.Now()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for time.Since(start) < during {
		if err := check(); err != nil {
			t.Fatalf("after %v of %v: %v", time.Since(start).Round(time.Millisecond), during, err)
		}
		<-ticker.C
	}
}
