package wire

import (
	"strconv"
	"time"
)

// Metadata keys by which an instance sets its own times, in whole milliseconds,
// and its kind of id.
const (
	MetadataBeatInterval  = "preserved.heart.beat.interval"
	MetadataBeatTimeout   = "preserved.heart.beat.timeout"
	MetadataDeleteTimeout = "preserved.ip.delete.timeout"
	MetadataIDGenerator   = "preserved.instance.id.generator"
)

// Default times of an instance (Nacos: Constants).
const (
	DefaultBeatInterval  = 5 * time.Second
	DefaultBeatTimeout   = 15 * time.Second
	DefaultDeleteTimeout = 30 * time.Second
)

// Intervals are the effective times of one instance (server case SB-07).
type Intervals struct {
	// Beat is how often the client is to beat.
	Beat time.Duration
	// Timeout is the silence after which the instance is unhealthy.
	Timeout time.Duration
	// Delete is the silence after which the instance is removed.
	Delete time.Duration
}

// Ordered says whether the times are in the order that makes sense: beats more
// often than the timeout, unhealthy no later than removed. Other orders are
// honoured, but deserve a warning.
func (iv Intervals) Ordered() bool { return iv.Beat < iv.Timeout && iv.Timeout <= iv.Delete }

// IntervalsFrom reads the preserved.* times of an instance's metadata. Each is a
// whole number of milliseconds from 1000 to 86400000; what is absent or anything
// else takes its default, and the keys of the latter are returned in ignored.
func IntervalsFrom(metadata map[string]string) (iv Intervals, ignored []string) {
	iv = Intervals{Beat: DefaultBeatInterval, Timeout: DefaultBeatTimeout, Delete: DefaultDeleteTimeout}
	if len(metadata) == 0 {
		return iv, nil
	}
	for _, of := range [...]struct {
		key string
		to  *time.Duration
	}{
		{MetadataBeatInterval, &iv.Beat},
		{MetadataBeatTimeout, &iv.Timeout},
		{MetadataDeleteTimeout, &iv.Delete},
	} {
		text, ok := metadata[of.key]
		if !ok {
			continue
		}
		ms, err := strconv.ParseUint(text, 10, 32)
		if err != nil || ms < 1000 || ms > 86_400_000 {
			ignored = append(ignored, of.key)
			continue
		}
		*of.to = time.Duration(ms) * time.Millisecond
	}
	return iv, ignored
}

// append appends the times as members of a JSON object, in milliseconds and under
// Nacos' names, each with a comma before it.
func (iv Intervals) append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `,"instanceHeartBeatInterval":`...), iv.Beat.Milliseconds(), 10)
	dst = strconv.AppendInt(append(dst, `,"instanceHeartBeatTimeOut":`...), iv.Timeout.Milliseconds(), 10)
	return strconv.AppendInt(append(dst, `,"ipDeleteTimeout":`...), iv.Delete.Milliseconds(), 10)
}
