package probe

import (
	"testing"
	"time"
)

// One round of the schedule with 10,000 targets: out, judged, and in again.
func BenchmarkSchedule(b *testing.B) {
	f := start(b)
	var targets []Target
	for port := range 10_000 {
		targets = append(targets, healthy(port))
	}
	if err := f.Set(cluster1("s"), Checker{}, 0, targets); err != nil {
		b.Fatal(err)
	}
	f.switches(func(p *Params) { p.Enabled = false })
	b.ReportAllocs()
	p := f.Prober
	p.mu.Lock()
	defer p.mu.Unlock()
	for b.Loop() {
		t := p.schedule[0]
		p.schedule.remove(t)
		t.adapt(verdict{outcome: succeeded}, time.Millisecond, DefaultParams().TCP, t.due)
		t.judge(verdict{outcome: succeeded}, 3)
		p.plan(t, t.due)
	}
}

// A cluster of 1,000 of which one comes or goes.
func BenchmarkSet(b *testing.B) {
	f := start(b)
	var targets []Target
	for port := range 1000 {
		targets = append(targets, healthy(port))
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		if err := f.Set(cluster1("s"), Checker{}, 0, targets[n%2:]); err != nil {
			b.Fatal(err)
		}
	}
}
