package loadbalance

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"github.com/rollcall-go/rollcall/registry"
)

// HashKey says by what a call is hashed; see [ParseHashKey].
type HashKey struct {
	kind, name string
}

// Kinds of a [HashKey].
const (
	hashHeader = "header"
	hashCookie = "cookie"
	hashQuery  = "query"
	hashIP     = "ip"
)

// ParseHashKey reads "header:X", "cookie:X", "query:X" or "ip". The ip is that
// of [WithClientAddr], else the first in X-Forwarded-For.
func ParseHashKey(text string) (HashKey, error) {
	kind, name, named := strings.Cut(text, ":")
	switch {
	case kind == hashIP && !named:
		return HashKey{kind: kind}, nil
	case kind == hashHeader && isToken(name):
		return HashKey{kind, http.CanonicalHeaderKey(name)}, nil
	case kind == hashCookie && isToken(name), kind == hashQuery && name != "":
		return HashKey{kind, name}, nil
	}
	return HashKey{}, fmt.Errorf("%q is none of header:NAME, cookie:NAME, query:NAME, ip", text)
}

// of returns what the call is hashed by; "" when it does not have it.
func (k HashKey) of(r *Request) string {
	value := ""
	switch k.kind {
	case hashHeader:
		value = r.header(k.name)
	case hashCookie:
		value, _ = r.Cookie(k.name)
	case hashQuery:
		value, _ = r.Query(k.name)
	case hashIP:
		value = r.clientAddr()
	}
	return value
}

// ConsistentHash sends calls with equal keys to the same instance, in proportion
// to the weights over all keys. When an instance comes or goes, only the keys
// that it gets or had move. Calls without the key go by [WeightedRandom]. A nil
// rand is math/rand/v2's.
//
// Keys fall into 65,536 slots, whatever the instances are. In each slot every
// instance draws a number from its own hash and the slot's, and the highest wins
// (rendezvous hashing): nothing else than the instance decides about it, and the
// second best is there when the best was tried already. Who wins a slot is worked
// out when the first call wants it and remembered as long as the list lasts. An
// instance's share comes out within a few percent of itself for a hundred
// instances, and within an eighth for a thousand.
func ConsistentHash(key HashKey, rand Rand) Policy {
	return consistentHashPolicy{key, weightedRandomPolicy{orDefault(rand)}}
}

type consistentHashPolicy struct {
	key     HashKey
	without weightedRandomPolicy
}

func (consistentHashPolicy) Name() string { return PolicyConsistentHash }

func (p consistentHashPolicy) Build(instances []*registry.Instance) Picker {
	return p.BuildCandidates(asCandidates(instances))
}

func (p consistentHashPolicy) BuildCandidates(candidates []Candidate) Picker {
	if candidates = withWeight(candidates); len(candidates) == 0 {
		return none{}
	}
	picker := &consistentHashPicker{
		key: p.key, without: p.without.BuildCandidates(candidates),
		candidates: candidates, hashes: make([]uint64, len(candidates)), equal: true,
	}
	for n := range candidates {
		picker.hashes[n] = hashOf(candidates[n].Instance)
		picker.equal = picker.equal && candidates[n].Weight == candidates[0].Weight
	}
	return picker
}

// hashOf is the same for an instance whatever else is in the list.
func hashOf(i *registry.Instance) uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.WriteString(i.Cluster) // never fails
	_, _ = d.WriteString("/")
	_, _ = d.WriteString(i.Address())
	return d.Sum64()
}

// The slots of a key's hash: pageBits choose a page and slotBits a slot in it.
const (
	pageBits = 8
	slotBits = 8
)

// slotPage holds the owners of slots: the candidate's index and one more, 0 while
// nobody wanted to know.
type slotPage [1 << slotBits]atomic.Int32

type consistentHashPicker struct {
	key        HashKey
	without    Picker
	candidates []Candidate
	hashes     []uint64
	equal      bool // all weights are
	// pages are made when they are wanted: a list may be gone before most are.
	pages [1 << pageBits]atomic.Pointer[slotPage]
}

func (p *consistentHashPicker) Pick(r *Request) (Result, error) {
	key := p.key.of(r)
	if key == "" {
		return p.without.Pick(r)
	}
	slot := xxhash.Sum64String(key) >> (64 - pageBits - slotBits)
	if len(r.Tried) > 0 {
		if best := p.best(slot, r.wasTried); best >= 0 {
			return p.candidates[best].result(), nil
		}
	}
	return p.candidates[p.owner(slot)].result(), nil
}

// owner returns who has a slot.
func (p *consistentHashPicker) owner(slot uint64) int {
	page := p.pages[slot>>slotBits].Load()
	if page == nil {
		page = new(slotPage)
		if !p.pages[slot>>slotBits].CompareAndSwap(nil, page) {
			page = p.pages[slot>>slotBits].Load()
		}
	}
	at := &page[slot%(1<<slotBits)]
	if owner := at.Load(); owner > 0 {
		return int(owner - 1)
	}
	best := p.best(slot, nil)
	at.Store(int32(best + 1))
	return best
}

// best returns the index with the highest number in a slot among those that are
// not to be left out; below 0 when all are.
func (p *consistentHashPicker) best(slot uint64, out func(*registry.Instance) bool) int {
	best, top, highest := -1, 0.0, uint64(0)
	key := mix(slot)
	for n, h := range p.hashes {
		drawn := mix(h ^ key)
		score := 0.0
		switch {
		case !p.equal:
			if score = weightedScore(drawn, p.candidates[n].Weight); best >= 0 && score <= top {
				continue
			}
		case best >= 0 && drawn <= highest:
			continue
		}
		if out == nil || !out(p.candidates[n].Instance) {
			best, top, highest = n, score, drawn
		}
	}
	return best
}

// weightedScore turns a drawn number into one that is the highest of all with a
// chance in proportion to the weight.
func weightedScore(drawn uint64, weight float64) float64 {
	uniform := (float64(drawn>>11) + 0.5) / (1 << 53)
	return -weight / math.Log(uniform)
}

// mix spreads the bits (the last step of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
