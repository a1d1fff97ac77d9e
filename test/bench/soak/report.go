package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// report is what came of a run.
type report struct {
	settings
	samples []sample
	// settled is how long pushes were pending after the burden had ended, and
	// pending how many still were.
	settled time.Duration
	pending float64
	logged  int64 // bytes
	exit    error // of the server, on SIGTERM
}

// flatness is how much more than in the second quarter of the run the last one
// may have.
const flatness = 1.25

// fewest samples can be judged.
const fewest = 8

// The log's size is bounded by these: that of a busy fleet, and that of one in
// which nothing changes.
const (
	logOfChanges = 5 << 20
	logOfNothing = 1 << 20
)

// quarters returns the second and the last quarter of the samples.
func (r *report) quarters() (early, late []sample) {
	quarter := len(r.samples) / 4
	return r.samples[quarter : 2*quarter], r.samples[len(r.samples)-quarter:]
}

// p99 is how long all but a hundredth of the beats took at most, in the last
// quarter.
func (r *report) p99() time.Duration {
	_, late := r.quarters()
	return time.Duration(mean(late, func(x sample) float64 { return float64(x.p99) })).Round(10 * time.Microsecond)
}

// perBeat is the server's processor time for a beat and all that goes with it, in
// the last quarter.
func (r *report) perBeat() time.Duration {
	_, late := r.quarters()
	return time.Duration(mean(late, func(x sample) float64 { return x.cpu / max(x.beats, 1) }) * float64(time.Second)).Round(time.Microsecond)
}

// write writes what was promised and what came of it as a table, and reports
// whether all of it holds.
func (r *report) write(w io.Writer) (held bool) {
	fmt.Fprintf(w, "\n`soak %s`, %s/%s, %d processors, %s\n\n", r.flags(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Fprintf(w, "| what | promised | was | |\n|---|---|---|---|\n")
	held = true
	row := func(holds bool, what, promised, format string, args ...any) {
		word := "held"
		if !holds {
			word, held = "**failed**", false
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", what, promised, fmt.Sprintf(format, args...), word)
	}
	if len(r.samples) < fewest {
		row(false, "length", fmt.Sprintf("%d samples", fewest), "%d", len(r.samples))
		return held
	}
	r.judge(row)
	return held
}

// judge writes the rows.
func (r *report) judge(row func(holds bool, what, promised, format string, args ...any)) {
	last := r.samples[len(r.samples)-1]
	early, late := r.quarters()
	flat := func(what, unit string, slack float64, value func(sample) float64) {
		a, b := mean(early, value), mean(late, value)
		row(b <= a*flatness+slack, what, "flat", "%.0f%s in the second quarter, %.0f%s in the last", a, unit, b, unit)
	}
	rate := mean(r.samples[1:], func(x sample) float64 { return x.beats })
	row(rate >= 0.95*float64(r.rate), "beats", fmt.Sprintf("%d a second", r.rate), "%.0f a second, p99 %v, %.2f processors, %v of it a beat",
		rate, r.p99(), mean(late, func(x sample) float64 { return x.cpu }), r.perBeat())
	flat("resident memory", " MiB", 16, func(x sample) float64 { return float64(x.resident) / (1 << 20) })
	flat("goroutines", "", 10, func(x sample) float64 { return x.goroutines })
	flat("descriptors", "", 10, func(x sample) float64 { return float64(x.descriptors) })
	row(last.flips == 0 && last.expiries == 0 && last.unhealthy == 0, "health", "no flip", "%.0f flips, %.0f expiries, %d seen unhealthy in %d lists",
		last.flips, last.expiries, last.unhealthy, last.lists)
	row(last.forgotten == 0 && last.missing == 0, "instances", "none lost", "%d beats of unknown ones, %d lists too short", last.forgotten, last.missing)
	row(last.wrong5xx == 0 && last.failures == 0, "answers", "no 5xx, no error", "%d of 5xx, %d errors", last.wrong5xx, last.failures)
	logMost := int64(logOfChanges)
	if r.churn > 0 {
		row(last.pushes > 0, "pushes", "arrive", "%d acknowledged", last.pushes)
	} else {
		logMost = logOfNothing
		row(last.pushes == r.samples[0].pushes, "pushes", "none while nothing changes", "%d acknowledged", last.pushes-r.samples[0].pushes)
	}
	if r.unreachable > 0 {
		flat("pushes to nobody that are pending", "", float64(r.unreachable), func(x sample) float64 { return x.pending })
		row(r.pending == 0, "the same, when changes end", fmt.Sprintf("none after %v", settledWithin), "%.0f after %v", r.pending, r.settled.Round(time.Second))
	}
	row(r.logged < logMost, "log", fmt.Sprintf("below %d MiB", logMost>>20), "%d bytes", r.logged)
	row(r.exit == nil, "SIGTERM", "exit code 0", "%s", exitText(r.exit))
}

// flags are the command line without the binary.
func (r *report) flags() string {
	all := []string{
		fmt.Sprintf("-for %v -rate %d -services %d -churn %d -watchers %d -persistent %d",
			r.duration, r.rate, r.services, r.churn, r.watchers, r.persistent),
	}
	if r.unreachable > 0 {
		all = append(all, fmt.Sprintf("-unreachable %d -changes %d", r.unreachable, r.changes))
	}
	if r.malformed > 0 {
		all = append(all, fmt.Sprintf("-malformed %d", r.malformed))
	}
	return strings.Join(all, " ")
}

func exitText(err error) string {
	if err == nil {
		return "exit code 0"
	}
	return err.Error()
}

func mean(samples []sample, value func(sample) float64) float64 {
	sum := 0.0
	for _, x := range samples {
		sum += value(x)
	}
	return sum / float64(len(samples))
}
