package interop

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// client is who was tried, in which version.
type client struct{ name, version string }

// result is one line of docs/clients.md.
type result struct {
	client client
	claim  string
	text   string
}

// results collects what the tests prove, for docs/clients.md.
type results struct {
	mu  sync.Mutex
	all []result
}

// report is filled by the tests of this package and written when they are done.
var report results

// proves notes that this test tried what claim says with the client, and at its
// end whether the claim held.
func proves(t *testing.T, who client, claim string) {
	t.Helper()
	t.Cleanup(func() {
		text := "works"
		switch {
		case t.Failed():
			text = "**fails**"
		case t.Skipped():
			text = "not tried"
		}
		report.mu.Lock()
		defer report.mu.Unlock()
		report.all = append(report.all, result{client: who, claim: claim, text: text})
	})
}

// write puts the results into a Markdown file, in an order that does not depend
// on which test was done first.
func (r *results) write(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.all, func(a, b result) int {
		return cmp.Or(strings.Compare(a.client.name, b.client.name), strings.Compare(a.claim, b.claim))
	})
	var text strings.Builder
	text.WriteString(`# Clients

Written by ` + "`make docs`" + ` from a run of the tests in test/interop: each row is a test
that started the server's real binary and met it with the client named,
unmodified.

| client | version | what was exercised | result |
|---|---|---|---|
`)
	for _, line := range r.all {
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", line.client.name, line.client.version, line.claim, line.text)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}
