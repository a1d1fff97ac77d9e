package testutil

import (
	"bytes"
	"sync"
)

// Output collects what a process or a logger writes while the test reads it. The
// zero value is empty and ready; its methods may be called concurrently.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer. It never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns what was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
