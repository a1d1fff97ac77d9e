package naming

import (
	"crypto/md5"
	"encoding/hex"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/internal/wire"
)

const (
	// maxShapes is how many different queries one revision remembers the answers
	// of. Four cover what clients of one service usually ask.
	maxShapes = 16
	// maxShapeText is the longest clusters and env text of a remembered one.
	maxShapeText = 256
)

// sharedAnswers are made from a revision when first asked for.
type sharedAnswers struct {
	shapes   atomic.Pointer[[]*shape]
	checksum struct {
		once sync.Once
		text string
	}
}

// shape is the answer to one query, all but the two numbers that differ each
// time.
type shape struct {
	query Query
	once  sync.Once
	list  wire.EncodedList
}

// AppendAnswer appends the JSON of a list reply. The hosts are encoded once for
// each revision and query; after that an answer is a copy of bytes. lastRefTime
// and cacheMillis are in milliseconds.
func (r *Revision) AppendAnswer(dst []byte, q Query, cacheMillis, lastRefTime int64) []byte {
	return r.Encoded(q).Append(dst, cacheMillis, lastRefTime)
}

// Encoded is the answer without its two numbers. Its bytes are shared by all who
// ask the same of this revision, so a large list is in memory once, however many
// clients are reading it.
func (r *Revision) Encoded(q Query) wire.EncodedList {
	s := r.shared.shape(q)
	if s == nil {
		return r.encode(q)
	}
	s.once.Do(func() { s.list = r.encode(q) })
	return s.list
}

// Answer is [Revision.AppendAnswer] into new memory.
func (r *Revision) Answer(q Query, cacheMillis, lastRefTime int64) []byte {
	return r.AppendAnswer(nil, q, cacheMillis, lastRefTime)
}

// shape finds or makes the place of q's answer; nil when there is no room.
func (a *sharedAnswers) shape(q Query) *shape {
	var made *shape
	for {
		current := a.shapes.Load()
		var list []*shape
		if current != nil {
			list = *current
		}
		for _, s := range list {
			if s.query == q {
				return s
			}
		}
		if len(list) == maxShapes || len(q.Clusters)+len(q.Env) > maxShapeText {
			return nil
		}
		if made == nil {
			made = &shape{query: q}
		}
		longer := append(slices.Clone(list), made)
		if a.shapes.CompareAndSwap(current, &longer) {
			return made
		}
	}
}

func (r *Revision) encode(q Query) wire.EncodedList {
	hosts, protected := r.Select(q)
	name := r.grouped
	if !q.Grouped {
		name = r.key.Name
	}
	return wire.EncodeList(wire.ServiceList{
		Dom: name, Name: r.grouped, Checksum: r.Checksum(), Clusters: q.Clusters, Env: q.Env,
		Metadata: r.service.Metadata, ReachProtectionThreshold: protected,
	}, func(yield func(wire.Host) bool) {
		for _, i := range hosts {
			if !yield(i.Host(name, protected || i.Healthy)) {
				return
			}
		}
	})
}

// Checksum is a digest of the service's state: it differs when a reader could
// see a difference, and is equal on every node that has the same state. It is
// MD5, as clients know it, and protects nothing.
func (r *Revision) Checksum() string {
	c := &r.shared.checksum
	c.once.Do(func() {
		h := md5.New()
		buf := make([]byte, 0, 512)
		buf = append(append(buf, r.grouped...), '_')
		buf = strconv.AppendFloat(buf, r.service.ProtectThreshold, 'g', -1, 64)
		buf = append(appendSortedPairs(append(buf, '_'), r.service.Metadata), r.service.Selector.Expression...)
		h.Write(append(buf, ';'))
		for i := range r.All() {
			buf = append(append(buf[:0], i.IP...), ':')
			buf = append(strconv.AppendInt(buf, int64(i.Port), 10), '_')
			buf = append(strconv.AppendFloat(buf, i.Weight, 'g', -1, 64), '_')
			buf = append(strconv.AppendBool(buf, i.Healthy), '_')
			buf = append(strconv.AppendBool(buf, i.Enabled), '_')
			buf = append(append(buf, i.Cluster...), '_')
			h.Write(append(appendSortedPairs(buf, i.Metadata), ','))
		}
		c.text = hex.EncodeToString(h.Sum(nil))
	})
	return c.text
}

func appendSortedPairs(dst []byte, m map[string]string) []byte {
	var few [16]string // keeps the usual handful of keys off the heap
	keys := few[:0]
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		dst = append(append(append(dst, key...), ':'), m[key]...)
		dst = append(dst, ',')
	}
	return dst
}
