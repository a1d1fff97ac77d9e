package naming

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Check says whether a change can be applied: a [wire.BadRequest] for a value
// that cannot be. It is asked before the change is proposed to the replicated
// state.
func (s *Switches) Check(entry, value string) error {
	_, err := s.Load().with(entry, value)
	return err
}

// Apply changes one switch by the name and text an operator gives (Nacos HTTP v1:
// operator). A value that cannot be is a [wire.BadRequest] and changes nothing;
// an unknown name is ignored, as in Nacos. The result depends on nothing but the
// changes and their order.
func (s *Switches) Apply(entry, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.Load().with(entry, value)
	if err != nil {
		return err
	}
	s.values.Store(v)
	return nil
}

// Restore replaces all switches by what [Switches.MarshalJSON] wrote. Members
// that are missing take their defaults, unknown ones are ignored. An object that
// cannot be is an error and changes nothing.
func (s *Switches) Restore(document []byte) error {
	v := defaultSwitches()
	if err := v.setBatch(string(document)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values.Store(v)
	return nil
}

// with returns a copy with one switch changed.
func (v *SwitchValues) with(entry, value string) (*SwitchValues, error) {
	changed := v.clone()
	var err error
	value = strings.ToValidUTF8(strings.TrimSpace(value), "\uFFFD") // what is stored is read back the same
	if entry == "batch" {
		err = changed.setBatch(value)
	} else if p, ok := periods[entry]; ok {
		err = p.set(changed, value)
	} else if set, ok := switchEntries[entry]; ok {
		err = set(changed, value)
	}
	return changed, err
}

type setSwitch func(v *SwitchValues, value string) error

var switchEntries = map[string]setSwitch{
	"check":                        boolean(func(v *SwitchValues) *bool { return &v.HealthCheckEnabled }),
	"distro":                       boolean(func(v *SwitchValues) *bool { return &v.DistroEnabled }),
	"pushEnabled":                  boolean(func(v *SwitchValues) *bool { return &v.PushEnabled }),
	"disableAddIP":                 boolean(func(v *SwitchValues) *bool { return &v.DisableAddIP }),
	"sendBeatOnly":                 boolean(func(v *SwitchValues) *bool { return &v.SendBeatOnly }),
	"lightBeatEnabled":             boolean(func(v *SwitchValues) *bool { return &v.LightBeatEnabled }),
	"defaultInstanceEphemeral":     boolean(func(v *SwitchValues) *bool { return &v.DefaultInstanceEphemeral }),
	"autoChangeHealthCheckEnabled": boolean(func(v *SwitchValues) *bool { return &v.AutoChangeHealthCheckEnabled }),

	"healthCheckTimes":       (*SwitchValues).setCheckTimes,
	"distroThreshold":        (*SwitchValues).setDistroThreshold,
	"pushVersion":            (*SwitchValues).setPushVersion,
	"overriddenServerStatus": (*SwitchValues).setStatus,
	"limitedUrlMap":          (*SwitchValues).setLimitedURLs,
	"masters": func(v *SwitchValues, value string) error {
		v.Masters = strings.Split(value, ",")
		return nil
	},
}

// longest is the most milliseconds that a switch can say: a day, as for the times
// of an instance ([wire.IntervalsFrom]).
const longest = 86_400_000

// period is a switch that is a number of milliseconds.
type period struct {
	field    func(*SwitchValues) *int64
	least    int64
	tooSmall string
}

// periods are those switches by their entry. An interval of beats has the bounds
// that an instance's own has (server case SB-07): clients obey it to the letter.
var periods = map[string]period{
	"clientBeatInterval": {
		func(v *SwitchValues) *int64 { return &v.ClientBeatInterval }, 1000, "clientBeatInterval is too small(<1000)",
	},
	"distroServerExpiredMillis": {
		func(v *SwitchValues) *int64 { return &v.DistroServerExpiredMillis }, 0, "distroServerExpiredMillis is negative",
	},
	"pushCacheMillis": {
		func(v *SwitchValues) *int64 { return &v.DefaultPushCacheMillis },
		10000, "min cache time for http or tcp is too small(<10000)",
	},
	"defaultCacheMillis": {
		func(v *SwitchValues) *int64 { return &v.DefaultCacheMillis }, 1000, "min default cache time  is too small(<1000)",
	},
	"serviceStatusSynchronizationPeriodMillis": {
		func(v *SwitchValues) *int64 { return &v.ServiceStatusSynchronizationPeriodMillis },
		5000, "serviceStatusSynchronizationPeriodMillis is too small(<5000)",
	},
	"serverStatusSynchronizationPeriodMillis": {
		func(v *SwitchValues) *int64 { return &v.ServerStatusSynchronizationPeriodMillis },
		1000, "serverStatusSynchronizationPeriodMillis is too small(<1000)",
	},
}

func (p period) set(v *SwitchValues, value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return badNumber(value)
	}
	*p.field(v) = n
	return p.check(v)
}

func (p period) check(v *SwitchValues) error {
	switch n := *p.field(v); {
	case n < p.least:
		return wire.BadRequest(p.tooSmall)
	case n > longest:
		return wire.BadRequestf("more than a day: %d ms", n)
	}
	return nil
}

// boolean takes true and false in any case and nothing else: a typing error must
// not switch health checks off.
func boolean(field func(*SwitchValues) *bool) setSwitch {
	return func(v *SwitchValues, value string) error {
		on := strings.EqualFold(value, "true")
		if !on && !strings.EqualFold(value, "false") {
			return wire.BadRequestf("neither true nor false: %q", wire.Excerpt(value))
		}
		*field(v) = on
		return nil
	}
}

const errBadVersion = wire.BadRequest(`illegal version, must match: ^\d+\.\d+\.\d+$`)

func badNumber(value string) error {
	return wire.BadRequestf("For input string: %q", wire.Excerpt(value))
}

func (v *SwitchValues) setCheckTimes(value string) error {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return badNumber(value)
	}
	v.CheckTimes = int(n)
	return v.checkCheckTimes()
}

func (v *SwitchValues) checkCheckTimes() error {
	if v.CheckTimes < 1 {
		return wire.BadRequest("healthCheckTimes is too small(<1)")
	}
	return nil
}

func (v *SwitchValues) setDistroThreshold(value string) error {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return badNumber(value)
	}
	v.DistroThreshold = wire.Float(f)
	return v.checkDistroThreshold()
}

func (v *SwitchValues) checkDistroThreshold() error {
	if f := v.DistroThreshold; !(f > 0) || f > 1e9 {
		return wire.BadRequest("distroThreshold can not be zero or negative")
	}
	return nil
}

func (v *SwitchValues) setPushVersion(value string) error {
	kind, version, _ := strings.Cut(value, ":")
	if _, ok := wire.ParseVersion(version); !ok {
		return errBadVersion
	}
	switch kind {
	case "java":
		v.PushJavaVersion = version
	case "python":
		v.PushPythonVersion = version
	case "c":
		v.PushCVersion = version
	case "go":
		v.PushGoVersion = version
	default:
		return wire.BadRequestf("unsupported client type: %s", wire.Excerpt(kind))
	}
	return nil
}

func (v *SwitchValues) setStatus(value string) error {
	switch value {
	case "", "null":
		v.OverriddenServerStatus = nil
		return nil
	case "UP", "DOWN", "STARTING", "PAUSED", "WRITE_ONLY", "READ_ONLY":
		v.OverriddenServerStatus = &value
		return nil
	}
	return wire.BadRequestf("unknown server status: %s", wire.Excerpt(value))
}

// setLimitedURLs reads prefix:status,prefix:status; blank clears.
func (v *SwitchValues) setLimitedURLs(value string) error {
	limited := make(map[string]int)
	for piece := range strings.SplitSeq(value, ",") {
		if piece == "" {
			continue
		}
		colon := strings.LastIndexByte(piece, ':')
		if colon <= 0 {
			return wire.BadRequestf("illegal limitedUrlMap entry: %s", wire.Excerpt(piece))
		}
		status, err := strconv.Atoi(piece[colon+1:])
		if err != nil {
			return badNumber(piece[colon+1:])
		}
		if err := checkStatus(status); err != nil {
			return err
		}
		limited[piece[:colon]] = status
	}
	v.LimitedURLMap = limited
	return nil
}

func checkStatus(status int) error {
	if status < 200 || status > 599 {
		return wire.BadRequestf("illegal http status: %d", status)
	}
	return nil
}

// setBatch reads a whole switch object over the current one: what it leaves out
// stays.
func (v *SwitchValues) setBatch(value string) error {
	if err := json.Unmarshal([]byte(value), v); err != nil {
		return wire.BadRequestf("switch object incorrect: %s", wire.ExplainJSON(err))
	}
	return v.check()
}

// check holds a whole object to what the single entries demand.
func (v *SwitchValues) check() error {
	for _, p := range []HealthParams{v.HTTPHealthParams, v.TCPHealthParams, v.MySQLHealthParams} {
		if err := p.check(); err != nil {
			return err
		}
	}
	for _, entry := range slices.Sorted(maps.Keys(periods)) { // the same complaint everywhere
		if err := periods[entry].check(v); err != nil {
			return err
		}
	}
	if err := v.checkCheckTimes(); err != nil {
		return err
	}
	if err := v.checkDistroThreshold(); err != nil {
		return err
	}
	for _, version := range []string{
		v.PushGoVersion, v.PushJavaVersion, v.PushPythonVersion, v.PushCVersion, v.PushCSharpVersion,
	} {
		if _, ok := wire.ParseVersion(version); !ok {
			return errBadVersion
		}
	}
	for _, status := range v.LimitedURLMap {
		if err := checkStatus(status); err != nil {
			return err
		}
	}
	if v.OverriddenServerStatus != nil {
		return v.setStatus(*v.OverriddenServerStatus)
	}
	return nil
}

// check wants an interval that is neither nothing nor backwards: what is always
// due would be probed without a pause.
func (p HealthParams) check() error {
	switch {
	case p.Min < 500:
		return wire.BadRequest("min check time for http or tcp is too small(<500)")
	case p.Max < 3000:
		return wire.BadRequest("max check time for http or tcp is too small(<3000)")
	case p.Max > longest || p.Min > p.Max:
		return wire.BadRequest("max check time is more than a day, or less than the min check time")
	case p.Factor < 0 || p.Factor > 1:
		return wire.BadRequest("malformed factor")
	}
	return nil
}
