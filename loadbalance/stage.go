package loadbalance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/registry"
)

// Names of the stages, as [Properties].Chain writes them (client rule D-R1).
const (
	StageUsable       = "usable"
	StageIPType       = "ip-type"
	StageHealthCheck  = "health-check"
	StageOutlier      = "outlier"
	StageAPIVersion   = "api-version"
	StageHint         = "hint"
	StageSticky       = "request-based-sticky-session"
	StageSameInstance = "same-instance-preference"
	StageSubset       = "subset"
	StageSameCluster  = "same-cluster"
	StageZone         = "zone-preference"
	StageWeighted     = "weighted"
	StageRetryAware   = "retry-aware"
)

// stageRank says where a stage may stand: ranks never fall along a chain. What
// is known of the network comes first, so that everything later sees what there
// is; what must hold comes before what is preferred, or a preference could leave
// nothing that holds.
type stageRank int

const (
	rankUsable stageRank = iota
	rankAlive            // or can be reached from here
	rankRequired
	rankPreferred
	rankExpanded
	rankRetry
)

func (r stageRank) String() string {
	return [...]string{
		"which instances are usable", "which are alive", "what must hold", "what is preferred", "expansion", "retries",
	}[r]
}

// Stage is one step of a service's chain. It is an immutable value; those of this
// package are named by configuration, and [FilterStage] and [RequestStage] make
// further ones for [Options].Stages.
type Stage struct {
	name string
	rank stageRank
	// list narrows a list and runs once for each.
	list func(b *builder, s stock) []Candidate
	// split divides a list once, and each request goes with one part.
	split *split
}

// Name is the word that a chain uses for the stage.
func (s Stage) Name() string { return s.name }

// stock is what a stage has to choose from.
type stock struct {
	candidates []Candidate
	// known are all instances of the list that the request's stages before left,
	// unusable ones included.
	known []*registry.Instance
}

// split divides a list by a key of the instances.
type split struct {
	// of returns an instance's key; false when it has none.
	of func(*registry.Instance) (splitKey, bool)
	// asked returns the key that a request wants; false when it does not care.
	asked func(v *view, r *Request) (splitKey, bool, error)
	// strict leaves nothing when no instance has the key, instead of all.
	strict bool
	// lax says that the key is not the call's own wish, for which it would wait
	// until the instance is connected.
	lax bool
}

// splitKey is a text or a version.
type splitKey struct {
	text    string
	version version
}

// FilterStage returns a stage that applies a filter once per list. A required one
// stands where api-version may, before all preferences; another one keeps the
// list as it is when nothing would be left.
func FilterStage(name string, f Filter, required bool) Stage {
	rank := rankPreferred
	if required {
		rank = rankRequired
	}
	return Stage{name: name, rank: rank, list: func(_ *builder, s stock) []Candidate {
		kept := applyFilter(f, s.candidates)
		if len(kept) == 0 && !required {
			return s.candidates
		}
		return kept
	}}
}

// RequestStage returns a stage that gives a call to the instances whose key is
// the request's. Both functions return "" for none, and must not change what they
// are given: instanceKey runs once per list, requestKey for each call. When no
// instance has the key, a required stage leaves nothing and another one all.
func RequestStage(name string, requestKey func(*Request) string, instanceKey func(*registry.Instance) string, required bool) Stage {
	rank := rankPreferred
	if required {
		rank = rankRequired
	}
	return Stage{name: name, rank: rank, split: &split{
		of: func(i *registry.Instance) (splitKey, bool) {
			text := instanceKey(i)
			return splitKey{text: text}, text != ""
		},
		asked: func(_ *view, r *Request) (splitKey, bool, error) {
			text := requestKey(r)
			return splitKey{text: text}, text != "", nil
		},
		strict: required,
	}}
}

// applyFilter runs a filter over candidates. What it adds is left out.
func applyFilter(f Filter, candidates []Candidate) []Candidate {
	kept := f(instancesOf(candidates))
	if len(kept) == len(candidates) {
		same := true
		for n := range kept {
			same = same && kept[n] == candidates[n].Instance
		}
		if same {
			return candidates
		}
	}
	of := make(map[*registry.Instance]*Candidate, len(candidates))
	for n := range candidates {
		of[candidates[n].Instance] = &candidates[n]
	}
	narrowed := make([]Candidate, 0, len(kept))
	for _, i := range kept {
		if c := of[i]; c != nil {
			narrowed = append(narrowed, *c)
		}
	}
	return narrowed
}

// keep returns the candidates for which f is true.
func keep(candidates []Candidate, f func(*Candidate) bool) []Candidate {
	kept := make([]Candidate, 0, len(candidates))
	for n := range candidates {
		if f(&candidates[n]) {
			kept = append(kept, candidates[n])
		}
	}
	return kept
}

// ranks holds the place of each stage that a configuration can name.
var ranks = map[string]stageRank{
	StageUsable:       rankUsable,
	StageIPType:       rankAlive,
	StageHealthCheck:  rankAlive,
	StageOutlier:      rankAlive,
	StageAPIVersion:   rankRequired,
	StageHint:         rankPreferred,
	StageSticky:       rankPreferred,
	StageSameInstance: rankPreferred,
	StageSubset:       rankPreferred,
	StageSameCluster:  rankPreferred,
	StageZone:         rankPreferred,
	StageWeighted:     rankExpanded,
	StageRetryAware:   rankRetry,
}

// StageNames returns the names that a chain may use, in an order in which they
// may stand.
func StageNames() []string {
	names := make([]string, 0, len(ranks))
	for name := range ranks {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if ranks[a] != ranks[b] {
			return int(ranks[a] - ranks[b])
		}
		return strings.Compare(a, b)
	})
	return names
}

// PresetDefault is the preset in use where none is named.
const PresetDefault = "default"

// presets are Spring's eight predefined chains, as the stages that each has
// beside usable instances.
var presets = map[string][]string{
	PresetDefault:     {StageSameCluster},
	StageZone:         {StageZone},
	StageHealthCheck:  {StageHealthCheck, StageSameCluster},
	StageSticky:       {StageSticky, StageSameCluster},
	StageSameInstance: {StageSameInstance, StageSameCluster},
	StageWeighted:     {StageSameCluster, StageWeighted},
	StageSubset:       {StageSubset},
	StageAPIVersion:   {StageAPIVersion, StageSameCluster},
}

// Presets returns the names of the presets, sorted.
func Presets() []string { return sortedKeys(presets) }

// chainNames returns the stages that properties ask for, in order: the preset's
// or the chain's, and those that a key of their own switches on (client rule
// D-R1).
func chainNames(p Properties, custom ...Stage) ([]string, error) {
	rankOf := func(name string) (stageRank, bool) {
		if r, ok := ranks[name]; ok {
			return r, true
		}
		for _, s := range custom {
			if s.name == name {
				return s.rank, true
			}
		}
		return 0, false
	}
	names := slices.Clone(p.Chain)
	if len(names) == 0 {
		names = append([]string{StageUsable}, presets[p.Configurations]...)
		if !p.PreferSameCluster || !p.Nacos.Enabled {
			names = slices.DeleteFunc(names, func(name string) bool { return name == StageSameCluster })
		}
	}
	if err := checkOrder(names, rankOf); err != nil {
		return nil, err
	}
	for _, on := range []struct {
		name string
		on   bool
	}{
		{StageOutlier, p.Outlier.Enabled},
		{StageHint, len(p.Hint) > 0},
		{StageRetryAware, p.Retry.AvoidPreviousInstance},
	} {
		if !on.on || slices.Contains(names, on.name) {
			continue
		}
		// A preference goes before the others of its rank: it is about the call.
		rank, at := ranks[on.name], 0
		for at < len(names) {
			r, _ := rankOf(names[at])
			if r > rank || r == rank && rank == rankPreferred {
				break
			}
			at++
		}
		names = slices.Insert(names, at, on.name)
	}
	return names, nil
}

func checkOrder(names []string, rankOf func(string) (stageRank, bool)) error {
	if names[0] != StageUsable {
		return fmt.Errorf("must begin with %s", StageUsable)
	}
	var errs []error
	before := names[0]
	for n, name := range names {
		rank, ok := rankOf(name)
		if !ok {
			errs = append(errs, fmt.Errorf("%q is no stage, there are %s", name, strings.Join(StageNames(), ", ")))
			continue
		}
		if slices.Contains(names[:n], name) {
			errs = append(errs, fmt.Errorf("%s stands twice", name))
		}
		if last, _ := rankOf(before); last > rank {
			errs = append(errs, fmt.Errorf("%s (%s) must stand before %s (%s)", name, rank, before, last))
		}
		before = name
	}
	return errors.Join(errs...)
}
