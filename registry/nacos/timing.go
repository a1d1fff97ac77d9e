package nacos

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
)

const (
	// shortestBeat is the interval below which a unit was probably mistaken.
	shortestBeat = time.Second
	// longestTime bounds the times an instance may set for itself.
	longestTime = 24 * time.Hour
)

// beatInterval returns how often to beat. It refuses times that the server would
// silently replace, and times with which the instance could never be healthy
// (C-R16).
func beatInterval(metadata map[string]string, allowShort bool) (time.Duration, error) {
	beat, err1 := millis(metadata, registry.MetadataBeatInterval, wire.DefaultBeatInterval)
	timeout, err2 := millis(metadata, registry.MetadataBeatTimeout, wire.DefaultBeatTimeout)
	remove, err3 := millis(metadata, registry.MetadataDeleteTimeout, wire.DefaultDeleteTimeout)
	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, err
	}
	var errs []error
	if beat < shortestBeat && !allowShort {
		errs = append(errs, fmt.Errorf("%s is %v, below %v", registry.MetadataBeatInterval, beat, shortestBeat))
	}
	if timeout < beat {
		errs = append(errs, fmt.Errorf("%s is %v, below the beat interval of %v", registry.MetadataBeatTimeout, timeout, beat))
	}
	if remove < beat {
		errs = append(errs, fmt.Errorf("%s is %v, below the beat interval of %v", registry.MetadataDeleteTimeout, remove, beat))
	}
	return beat, errors.Join(errs...)
}

func millis(metadata map[string]string, key string, def time.Duration) (time.Duration, error) {
	text, ok := metadata[key]
	if !ok {
		return def, nil
	}
	ms, err := strconv.ParseUint(text, 10, 32)
	if d := time.Duration(ms) * time.Millisecond; err == nil && 0 < d && d <= longestTime {
		return d, nil
	}
	return 0, fmt.Errorf("%s is %q, no whole number of milliseconds up to %d", key, text, longestTime.Milliseconds())
}
