package probe

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// DefaultWorkers is how many probes are under way at the same time unless
// configured otherwise: enough to find 3,000 silent targets dead within half a
// minute.
const DefaultWorkers = 256

// Options says what a [Prober] needs; all have a default.
type Options struct {
	// Workers bounds the probes that are under way at the same time. The default
	// is [DefaultWorkers], the least 2.
	Workers int
	// Params returns the current switches. It is called with each probe and must
	// not keep it waiting. Nil means [DefaultParams].
	Params func() Params
	// Dial opens the connections of all probes; nil means a plain [net.Dialer].
	Dial DialFunc
	// Logger gets a line for each change of health; nil discards it.
	Logger *slog.Logger
	// Registerer gets the metrics; nil registers none.
	Registerer prometheus.Registerer
	// Rand returns a uniform number in [0, 1) and is safe for concurrent use; nil
	// means math/rand/v2. It spreads first probes.
	Rand func() float64
}

func (o Options) withDefaults() (Options, error) {
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.Workers < 2 {
		return o, errors.New("probe: Workers is less than 2")
	}
	if o.Params == nil {
		o.Params = DefaultParams
	}
	if o.Dial == nil {
		d := &net.Dialer{KeepAlive: -1} // no connection lives long enough
		o.Dial = d.DialContext
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o, nil
}

// Params are the switches that probes obey.
type Params struct {
	// Enabled off stops all probes but those of Exempt (switch "check").
	Enabled bool
	// Exempt are the grouped names of services that are probed all the same
	// (switch healthCheckWhiteList).
	Exempt []string
	// CheckTimes is how many probes in a row must say the same before health
	// changes (switch healthCheckTimes); less than 1 is 1.
	CheckTimes int
	// TCP, HTTP and MySQL bound the intervals by type.
	TCP, HTTP, MySQL Interval
}

// Interval bounds how long after a probe the next one of the same target comes.
type Interval struct {
	Max, Min time.Duration
	// Factor is how much of the last interval stays in the next, 0 to 1.
	Factor float64
}

// DefaultParams returns the defaults of Nacos.
func DefaultParams() Params {
	return Params{
		Enabled:    true,
		CheckTimes: 3,
		TCP:        Interval{Max: 5 * time.Second, Min: time.Second, Factor: 0.75},
		HTTP:       Interval{Max: 5 * time.Second, Min: 500 * time.Millisecond, Factor: 0.85},
		MySQL:      Interval{Max: 3 * time.Second, Min: 2 * time.Second, Factor: 0.65},
	}
}

// probes says whether the targets of a service are probed.
func (p *Params) probes(k wire.ServiceKey) bool {
	return p.Enabled || slices.Contains(p.Exempt, k.ServiceName.String())
}

func (p *Params) interval(t Type) Interval {
	switch t {
	case HTTP:
		return p.HTTP
	case MySQL:
		return p.MySQL
	}
	return p.TCP
}

// leastInterval holds whatever the switches say: they may be set to nothing.
const leastInterval = 100 * time.Millisecond

// next returns the interval after one of last and a probe to which rt is given:
// a weighted mean within the bounds (Nacos: HealthCheckCommon.reEvaluateCheckRT).
func (i Interval) next(last, rt time.Duration) time.Duration {
	mean := time.Duration(i.Factor*float64(last) + (1-i.Factor)*float64(rt))
	return max(min(mean, i.Max), i.Min, leastInterval)
}
