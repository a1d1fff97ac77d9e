package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSB07_Intervals(t *testing.T) {
	defaults := Intervals{Beat: 5 * time.Second, Timeout: 15 * time.Second, Delete: 30 * time.Second}
	for text, want := range map[string]time.Duration{
		"1000": time.Second, "86400000": 24 * time.Hour, "007000": 7 * time.Second,
	} {
		iv, ignored := IntervalsFrom(map[string]string{MetadataBeatTimeout: text})
		require.Empty(t, ignored, text)
		require.Equal(t, Intervals{Beat: defaults.Beat, Timeout: want, Delete: defaults.Delete}, iv)
	}
	for _, text := range []string{"abc", "-5", "0", "1.5", "999", "86400001", "9000000000000000000", "", " 2000", "+2000", "2000ms"} {
		iv, ignored := IntervalsFrom(map[string]string{MetadataBeatTimeout: text, "x": "y"})
		require.Equal(t, []string{MetadataBeatTimeout}, ignored, text)
		require.Equal(t, defaults, iv, text)
	}
	iv, ignored := IntervalsFrom(map[string]string{
		MetadataBeatInterval: "30", MetadataBeatTimeout: "120", MetadataDeleteTimeout: "180",
	})
	require.Len(t, ignored, 3)
	require.Equal(t, defaults, iv)
	iv, ignored = IntervalsFrom(nil)
	require.Empty(t, ignored)
	require.Equal(t, defaults, iv)
}

func TestIntervals_Ordered(t *testing.T) {
	require.True(t, Intervals{Beat: 1, Timeout: 2, Delete: 2}.Ordered())
	require.False(t, Intervals{Beat: 2, Timeout: 2, Delete: 3}.Ordered())
	require.False(t, Intervals{Beat: 1, Timeout: 3, Delete: 2}.Ordered())
}
