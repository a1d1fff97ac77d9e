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
type client struct {
	name, version string
	// note says what it cannot do by itself, which is therefore not tried.
	note string
}

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

// write puts the results into a Markdown file, with a table for each client and a
// column for each version, in an order that does not depend on which test was
// done first.
func (r *results) write(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.all, func(a, b result) int {
		return cmp.Or(strings.Compare(a.client.name, b.client.name), strings.Compare(a.claim, b.claim),
			strings.Compare(a.client.version, b.client.version), strings.Compare(a.text, b.text))
	})
	var text strings.Builder
	text.WriteString(`# Clients

Written by ` + "`make docs`" + ` from a run of the tests in test/interop: each row is a test
that started the server's real binary and met it with what is named, unmodified.
Timeouts are shortened by the instances' own metadata; ` + "`make soak`" + ` repeats what is
about beats and about a server that stands still with the timeouts that clients
have by themselves: beats past 35 seconds, a server frozen for a minute.
`)
	for len(r.all) > 0 {
		name := r.all[0].client.name
		end := slices.IndexFunc(r.all, func(line result) bool { return line.client.name != name })
		if end < 0 {
			end = len(r.all)
		}
		writeClient(&text, r.all[:end])
		r.all = r.all[end:]
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// writeClient writes the table of the client that all lines are about.
func writeClient(text *strings.Builder, lines []result) {
	var versions []string
	for _, line := range lines {
		versions = append(versions, line.client.version)
	}
	slices.Sort(versions)
	versions = slices.Compact(versions)

	fmt.Fprintf(text, "\n## %s\n\n", lines[0].client.name)
	if note := lines[0].client.note; note != "" {
		fmt.Fprintf(text, "%s\n\n", note)
	}
	fmt.Fprintf(text, "| what was exercised | %s |\n|%s\n", strings.Join(versions, " | "), strings.Repeat("---|", len(versions)+1))
	for len(lines) > 0 {
		claim := lines[0].claim
		found := make(map[string]string)
		for len(lines) > 0 && lines[0].claim == claim {
			found[lines[0].client.version] = lines[0].text
			lines = lines[1:]
		}
		fmt.Fprintf(text, "| %s |", claim)
		for _, version := range versions {
			fmt.Fprintf(text, " %s |", found[version])
		}
		text.WriteString("\n")
	}
}
