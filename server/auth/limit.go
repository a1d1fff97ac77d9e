package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How many wrong passwords are looked at: for one name, ten at once and then one
// in six seconds; from one address, thirty at once and then one a second. Right
// ones cost nothing, so that a fleet that shares a user can start all at once.
const (
	nameBurst     = 10
	nameRefill    = 6 * time.Second
	addressBurst  = 30
	addressRefill = time.Second

	// maxLimited bounds the names and the addresses that are remembered. Names
	// that do not exist are limited like the others.
	maxLimited = 10_000
)

// guessLimit counts wrong passwords by name and by address.
type guessLimit struct {
	mu        sync.Mutex
	names     *recent[string, *rate.Limiter]
	addresses *recent[netip.Prefix, *rate.Limiter]
}

func newGuessLimit() *guessLimit {
	return &guessLimit{
		names:     newRecent[string, *rate.Limiter](maxLimited),
		addresses: newRecent[netip.Prefix, *rate.Limiter](maxLimited),
	}
}

// wait returns how long no password is looked at for this name from this
// address; 0 means now.
func (g *guessLimit) wait(name string, from netip.Addr) time.Duration {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	var wait time.Duration
	if l, ok := g.names.get(name); ok {
		wait = untilNext(l, now)
	}
	if l, ok := g.addresses.get(network(from)); ok {
		wait = max(wait, untilNext(l, now))
	}
	return wait
}

// wrong counts a wrong password.
func (g *guessLimit) wrong(name string, from netip.Addr) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	count(g.names, name, nameRefill, nameBurst, now)
	if from.IsValid() {
		count(g.addresses, network(from), addressRefill, addressBurst, now)
	}
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
