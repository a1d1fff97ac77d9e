package examples_test

import (
	"bytes"
	"regexp"
	"sync"
)

// output collects what a process prints while the test reads it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

var listening = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// listeningAt returns the base URL of the web server, "" until it is printed.
func (o *output) listeningAt() string {
	for line := range bytes.Lines([]byte(o.String())) {
		if bytes.Contains(line, []byte("web server listens")) {
			if address := listening.Find(line); address != nil {
				return "http://" + string(address)
			}
		}
	}
	return ""
}
