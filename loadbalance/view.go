package loadbalance

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

// view is what was worked out for one list: a tree of the parts into which the
// stages divide it, with a picker at each end. It is immutable but for what the
// pickers count and for parts that are worked out when the first request wants
// them.
type view struct {
	state    *state
	settings *settings
	snapshot *discovery.Snapshot
	// version is the state's when the view was built: what it knows of probes and
	// ejections.
	version uint64
	// until is when time alone makes the view old (the end of an ejection, a step
	// of a warm-up), by the balancer's clock; 0 when it does not.
	until int64
	root  *node
	// usable are the candidates that the first stage left.
	usable stock
	// endpoints finds what the results of foreign policies do not carry; nil for
	// the own ones.
	endpoints map[*registry.Instance]*endpoint
}

// node is the end of a chain, with a picker, or a place where it divides.
type node struct {
	picker     Picker
	candidates []Candidate

	split  *split
	groups map[splitKey]*group
	rest   group // for requests that do not care, or whose key nobody has
}

// group is a part of a list with the stages that are still to come.
type group struct {
	stock  stock
	stages []Stage
	node   atomic.Pointer[node]
}

// builder works out a view.
type builder struct {
	view *view
	now  int64
	// rehearsal is for a single request; it must not change what is known of the
	// instances.
	rehearsal bool
}

// expire says that the view is old at a time, by the balancer's clock.
func (b *builder) expire(at int64) {
	if !b.rehearsal && (b.view.until == 0 || at < b.view.until) {
		b.view.until = at
	}
}

// node works out what the stages make of a stock.
func (b *builder) node(stages []Stage, s stock) *node {
	for n, stage := range stages {
		if stage.split == nil {
			s.candidates = stage.list(b, s)
			continue
		}
		return newSplit(stage.split, s, stages[n+1:])
	}
	return &node{picker: buildPicker(b.view.settings.policy, s.candidates), candidates: s.candidates}
}

func newSplit(by *split, s stock, later []Stage) *node {
	n := &node{split: by, groups: map[splitKey]*group{}, rest: group{stock: s, stages: later}}
	for _, c := range s.candidates {
		key, ok := by.of(c.Instance)
		if !ok {
			continue
		}
		g := n.groups[key]
		if g == nil {
			g = &group{stages: later}
			n.groups[key] = g
		}
		g.stock.candidates = append(g.stock.candidates, c)
	}
	for _, i := range s.known {
		if key, ok := by.of(i); ok {
			if g := n.groups[key]; g != nil {
				g.stock.known = append(g.stock.known, i)
			}
		}
	}
	return n
}

// enter returns the group's node, worked out when it is wanted first.
func (g *group) enter(v *view) *node {
	if n := g.node.Load(); n != nil {
		return n
	}
	b := builder{view: v, now: v.state.balancer.now(), rehearsal: true}
	g.node.CompareAndSwap(nil, b.node(g.stages, g.stock))
	return g.node.Load()
}

// leaf follows a request to the end of its chain, and tells how many stages gave
// it what it asked for. It is [ErrNoInstance] when a stage leaves nothing.
func (v *view) leaf(n *node, r *Request) (end *node, matched int, err error) {
	for n.split != nil {
		g := &n.rest
		key, cares, err := n.split.asked(v, r)
		if err != nil {
			return nil, 0, err
		}
		if cares {
			if found := n.groups[key]; found != nil {
				g = found
				if !n.split.lax {
					matched++
				}
			} else if n.split.strict {
				return nil, 0, ErrNoInstance
			}
		}
		n = g.enter(v)
	}
	return n, matched, nil
}

// pick chooses for one request.
func (v *view) pick(r *Request) (Result, error) {
	end, matched, err := v.leaf(v.root, r)
	if err != nil {
		return Result{}, err
	}
	result, err := end.picker.Pick(r)
	if err != nil {
		return result, err
	}
	tried := r.wasTried(result.Instance)
	avoided := tried || !r.reaches(result.Instance)
	if avoided && r.lost(result.Instance) {
		result.discard()
		var ok bool
		if result, matched, ok = v.pickAmong(r, func(i *registry.Instance) bool { return !r.lost(i) }); !ok {
			return Result{}, ErrNoInstance
		}
		tried = r.wasTried(result.Instance)
		avoided = tried || !r.reaches(result.Instance)
	}
	if avoided {
		other, otherMatched, ok := v.pickAmong(r, func(i *registry.Instance) bool { return !r.avoids(i) })
		if ok && r.Lost != nil && otherMatched < matched && (!tried || !r.reaches(result.Instance)) {
			// The call comes to what it asked for if it waits, or at once where that is
			// connected by now.
			other.discard()
			ok = false
		}
		switch {
		case ok:
			result.discard()
			result = other
		case !r.reaches(result.Instance):
			result.discard()
			return Result{}, ErrNoInstance
		}
	}
	if result.endpoint == nil {
		result.endpoint = v.endpoints[result.Instance]
	}
	if limit := v.settings.activeLimit; limit > 0 && result.endpoint != nil && result.endpoint.Active() >= limit {
		result = v.pickIdle(end, r, result, limit)
	}
	return result, nil
}

// pickAmong goes through the chain once more with some of the instances, which may
// lead out of what is preferred; false when nothing is left. It tells how many
// stages gave the request what it asked for.
func (v *view) pickAmong(r *Request, some func(*registry.Instance) bool) (result Result, matched int, ok bool) {
	left := stock{known: v.usable.known}
	left.candidates = keep(v.usable.candidates, func(c *Candidate) bool { return some(c.Instance) })
	if len(left.candidates) == 0 {
		return Result{}, 0, false
	}
	b := builder{view: v, now: v.state.balancer.now(), rehearsal: true}
	end, matched, err := v.leaf(b.node(v.settings.stages, left), r)
	if err != nil {
		return Result{}, 0, false
	}
	result, err = end.picker.Pick(r)
	return result, matched, err == nil
}

// pickIdle looks for an instance with fewer calls under way than the limit, from
// the one that was chosen on; when there is none, that one has to do.
func (v *view) pickIdle(end *node, r *Request, chosen Result, limit int64) Result {
	at := slices.IndexFunc(end.candidates, func(c Candidate) bool { return c.Instance == chosen.Instance })
	if at < 0 {
		return chosen
	}
	for step := range end.candidates {
		c := &end.candidates[(at+step)%len(end.candidates)]
		if c.endpoint.Active() < limit && !r.avoids(c.Instance) {
			chosen.discard()
			return c.result()
		}
	}
	return chosen
}

// from reports whether v was built for this content. Snapshots that only
// confirm or lose confidence in a list share its instances.
func (v *view) from(s *discovery.Snapshot) bool {
	if v.snapshot == s {
		return true
	}
	old := v.snapshot.Instances
	return v.snapshot.Revision == s.Revision && len(old) == len(s.Instances) &&
		(len(old) == 0 || &old[0] == &s.Instances[0])
}

// build works out the view of a list. The state's lock is held.
func (s *state) build(set *settings, snapshot *discovery.Snapshot) *view {
	l := s.balancer
	v := &view{state: s, settings: set, snapshot: snapshot, version: s.version.Load()}
	b := &builder{view: v, now: l.now()}
	known := make([]*registry.Instance, len(snapshot.Instances))
	endpoints := make([]*endpoint, len(known))
	for n := range snapshot.Instances {
		known[n] = Reached(&snapshot.Instances[n], set.ipType)
	}
	s.adopt(known, endpoints, b.now)
	if set.foreign {
		v.endpoints = make(map[*registry.Instance]*endpoint, len(known))
	}
	candidates := make([]Candidate, 0, len(known))
	unhealthy := 0
	for n, i := range known {
		weight := Weight(i)
		if !i.Enabled || !(weight > 0) {
			continue
		}
		if !i.Healthy {
			unhealthy++
		}
		e := endpoints[n]
		ramp := b.ramp(e)
		candidates = append(candidates, Candidate{Instance: i, Weight: weight * ramp, Ramp: ramp, Load: &e.Load, endpoint: e})
		if v.endpoints != nil {
			v.endpoints[i] = e
		}
	}
	if unhealthy > 0 && (unhealthy < len(candidates) || !set.properties.UseUnhealthyWhenEmpty) {
		candidates = keep(candidates, func(c *Candidate) bool { return c.Instance.Healthy })
	}
	for _, f := range l.filters {
		candidates = applyFilter(f, candidates)
	}
	v.usable = stock{candidates: candidates, known: known}
	v.root = b.node(set.stages, v.usable)
	return v
}

// warmUpSteps is in how many steps the weight of a new instance grows.
const warmUpSteps = 20

// ramp returns the share of its weight that an instance has by now (client rule
// D-R16).
func (b *builder) ramp(e *endpoint) float64 {
	window := int64(b.view.settings.properties.WarmUp)
	age := b.now - e.joined
	if window <= 0 || e.joined == 0 || age >= window {
		return 1
	}
	step := age * warmUpSteps / window
	b.expire(e.joined + (step+1)*window/warmUpSteps)
	return max(float64(age)/float64(window), 1.0/warmUpSteps)
}

// now is the time since the balancer was made, monotonic and above 0.
func (l *LoadBalancer) now() int64 { return int64(time.Since(l.epoch)) + 1 }
