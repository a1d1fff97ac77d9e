// Package length says how long the tests take that prove something about minutes:
// shortened with every change, in full when the environment says
// ROLLCALL_FULL_LENGTH=1, as `make soak` does. It is the same test either way.
package length

import "os"

// Of returns short, or full when tests are to run in full length.
func Of[T any](short, full T) T {
	if os.Getenv("ROLLCALL_FULL_LENGTH") == "1" {
		return full
	}
	return short
}
