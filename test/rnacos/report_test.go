package rnacos

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// verdict is what became of one rule.
type verdict struct{ suite, rule, text string }

// verdicts collects what the tests prove, for docs/peers.md.
type verdicts struct {
	mu  sync.Mutex
	all []verdict
}

// report is filled by the tests of this package and written when they are done.
var report verdicts

func (r *verdicts) add(v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, v)
}

// proves notes that this test tried a rule, and at its end whether it held.
func proves(t *testing.T, suite, rule string) {
	t.Helper()
	t.Cleanup(func() {
		text := "passed"
		switch {
		case t.Failed():
			text = "**failed**"
		case t.Skipped():
			text = "not tried"
		}
		report.add(verdict{suite, rule, text})
	})
}

// provesRule notes the rule that a contract suite tries with this subtest.
func provesRule(t *testing.T, suite string) {
	t.Helper()
	name := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
	proves(t, suite, strings.ReplaceAll(name, "_", " "))
}

// leavesOut notes the rules of a suite that are not tried, and why.
func leavesOut(suite string, rules map[string]string) {
	for rule, why := range maps.All(rules) {
		report.add(verdict{suite, rule, "left out: " + why})
	}
}

// write puts the verdicts into a Markdown file, in an order that does not depend
// on which test was done first.
func (r *verdicts) write(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.all, func(a, b verdict) int {
		return cmp.Or(strings.Compare(a.suite, b.suite), strings.Compare(a.rule, b.rule))
	})
	var text strings.Builder
	fmt.Fprintf(&text, `# Peers

Written by `+"`make docs`"+` from a run of the tests in test/rnacos: our client against
registries that are not ours, over HTTP v1. A contract suite is the one that the
client passes against our own server.

| peer | version | suite | passed | failed | left out |
|---|---|---|---|---|---|
`)
	counts := map[string]map[string]int{}
	for _, v := range r.all {
		if counts[v.suite] == nil {
			counts[v.suite] = map[string]int{}
		}
		word, _, _ := strings.Cut(v.text, ":")
		counts[v.suite][word]++
	}
	for _, suite := range slices.Sorted(maps.Keys(counts)) {
		count := counts[suite]
		fmt.Fprintf(&text, "| r-nacos | %s | %s | %d | %d | %d |\n",
			rnacos.version, suite, count["passed"], count["**failed**"], count["left out"])
	}
	fmt.Fprintf(&text, "\n## r-nacos, rule by rule\n\n| suite | rule | result |\n|---|---|---|\n")
	for _, v := range r.all {
		fmt.Fprintf(&text, "| %s | %s | %s |\n", v.suite, v.rule, v.text)
	}
	fmt.Fprintf(&text, "\n## Where r-nacos differs from Nacos\n\nBesides what is left out above, a user of r-nacos should know:\n\n")
	for _, d := range differences {
		fmt.Fprintf(&text, "- %s\n", d)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}
