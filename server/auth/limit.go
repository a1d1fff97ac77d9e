package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How many wrong passwords are looked at: for one name from one network, ten at
// once and then one in six seconds; from one network for all names, thirty at once
// and then one a second. So one client with an old password locks nobody out but
// its own network. For one name from everywhere it is three hundred at once and
// then one a second, against guessing from many networks; a network that has shown
// the right password for the name does not count as everywhere, or whoever has many
// networks could keep a user out for as long as he likes. Right ones cost nothing, so
// that a fleet that shares a user can start all at once.
const (
	pairBurst     = 10
	pairRefill    = 6 * time.Second
	addressBurst  = 30
	addressRefill = time.Second
	nameBurst     = 300
	nameRefill    = time.Second

	// maxLimited bounds each of the tables. Names that do not exist are limited like
	// the others.
	maxLimited = 10_000
)

// pair is a name as it is used from one network.
type pair struct {
	name string
	from netip.Prefix
}

// guessLimit counts wrong passwords by name and network, by network, and by name.
type guessLimit struct {
	mu        sync.Mutex
	trusted   *recent[pair, struct{}] // the right password came from there
	pairs     *recent[pair, *rate.Limiter]
	addresses *recent[netip.Prefix, *rate.Limiter]
	names     *recent[string, *rate.Limiter]
}

func newGuessLimit() *guessLimit {
	return &guessLimit{
		trusted:   newRecent[pair, struct{}](maxLimited),
		pairs:     newRecent[pair, *rate.Limiter](maxLimited),
		addresses: newRecent[netip.Prefix, *rate.Limiter](maxLimited),
		names:     newRecent[string, *rate.Limiter](maxLimited),
	}
}

// wait returns how long no password is looked at for this name from this
// address; 0 means now.
func (g *guessLimit) wait(name string, from netip.Addr) time.Duration {
	now, where := time.Now(), network(from)
	g.mu.Lock()
	defer g.mu.Unlock()
	near := max(waitOf(g.pairs, pair{name, where}, now), waitOf(g.addresses, where, now))
	if _, trusted := g.trusted.get(pair{name, where}); trusted {
		return near
	}
	return max(near, waitOf(g.names, name, now))
}

// right notes that the right password of a name came from an address.
func (g *guessLimit) right(name string, from netip.Addr) {
	if !from.IsValid() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trusted.put(pair{name, network(from)}, struct{}{})
}

// wrong counts a wrong password.
func (g *guessLimit) wrong(name string, from netip.Addr) {
	now, where := time.Now(), network(from)
	g.mu.Lock()
	defer g.mu.Unlock()
	count(g.pairs, pair{name, where}, pairRefill, pairBurst, now)
	count(g.names, name, nameRefill, nameBurst, now)
	if from.IsValid() {
		count(g.addresses, where, addressRefill, addressBurst, now)
	}
}

func waitOf[K comparable](table *recent[K, *rate.Limiter], k K, now time.Time) time.Duration {
	l, ok := table.get(k)
	if !ok {
		return 0
	}
	return untilNext(l, now)
}

func count[K comparable](table *recent[K, *rate.Limiter], k K, refill time.Duration, burst int, now time.Time) {
	l, ok := table.get(k)
	if !ok {
		l = rate.NewLimiter(rate.Every(refill), burst)
		table.put(k, l)
	}
	l.AllowN(now, 1)
}

// untilNext returns when a limiter will have a whole token.
func untilNext(l *rate.Limiter, now time.Time) time.Duration {
	missing := 1 - l.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / float64(l.Limit()) * float64(time.Second))
}

// network is what one client can choose its address from: a single IPv4 address,
// a /64 of IPv6.
func network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
