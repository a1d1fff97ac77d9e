package logsample

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
)

// target is a log that can be read while it is written.
type target struct{ testutil.Output }

func (t *target) lines() []string {
	return strings.Split(strings.TrimSuffix(t.String(), "\n"), "\n")
}

func open(t *testing.T, burst int) (*Sampler, *slog.Logger, *target) {
	s, log := New(burst, time.Minute), &target{}
	t.Cleanup(s.Close)
	return s, slog.New(s.Handler(slog.NewTextHandler(log, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		},
	}))), log
}

func TestSB23_AMessageThatRepeatsIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, logger, log := open(t, 2)
		for i := range 1000 {
			logger.With("client", "a").Warn("odd", "n", i)
		}
		logger.Warn("rare")
		logger.Error("odd")
		require.Equal(t, []string{
			"msg=odd client=a n=0", "msg=odd client=a n=1", "msg=rare", "msg=odd",
		}, log.lines(), "level and text make a message")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "msg=odd client=a n=999 muted=997", log.lines()[4], "nobody has to come for the count")

		logger.Warn("odd", "n", 1000)
		require.Equal(t, "msg=odd n=1000", log.lines()[5], "a new span begins")
	})
}

func TestSB23_OneThatRepeatsDoesNotHideTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, logger, log := open(t, 2*maxAlike)
		for i := range 1000 {
			logger.Warn("silent", "service", "noisy", "held", i, "took", time.Duration(i))
		}
		logger.Warn("silent", "service", "other", "held", 1)
		logger.Warn("silent", "service", "third", "port", 1)
		logger.Warn("silent", "service", "third", "error", errors.New("no route"))
		logger.Warn("silent", "service", "fourth")
		require.Equal(t, []string{
			"msg=silent service=noisy held=0 took=0s", "msg=silent service=noisy held=1 took=1ns",
			"msg=silent service=noisy held=2 took=2ns", "msg=silent service=other held=1",
			"msg=silent service=third port=1", `msg=silent service=third error="no route"`,
		}, log.lines(), "and all of them together are no more than the burst")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "msg=silent service=fourth muted=997", log.lines()[2*maxAlike])
	})
}

func TestSB23_ARareMessageIsNeverMuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, logger, log := open(t, 1)
		for range 10 {
			logger.Info("now and then")
			time.Sleep(time.Minute)
		}
		require.Len(t, log.lines(), 10)
	})
}

func TestSB23_NoCountIsLostAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, logger, log := open(t, 1)
		for range 5 {
			logger.Info("often")
		}
		s.Close()
		s.Close()
		logger.Info("often")
		require.Equal(t, []string{"msg=often", "msg=often muted=3", "msg=often"}, log.lines())
	})
}

func TestSB23_OneSamplerKeepsTheCountsOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, logger, log := open(t, 2)
		inner := New(2, time.Minute)
		t.Cleanup(inner.Close)
		logger = slog.New(inner.Handler(logger.Handler()))
		for range 10 {
			logger.Info("often")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"msg=often", "msg=often", "msg=often muted=7"}, log.lines())
	})
}

func TestSB23_TextsThatAreNoConstantsAreBoundedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, logger, log := open(t, 1)
		for i := range 10 * maxMessages {
			logger.Info(fmt.Sprintf("text %d", i))
		}
		require.LessOrEqual(t, len(log.lines()), maxMessages+1)
		s.mu.Lock()
		require.LessOrEqual(t, len(s.spans), maxMessages+1)
		s.mu.Unlock()
		time.Sleep(2 * time.Minute)
		logger.Info("another")
		require.Contains(t, log.lines()[len(log.lines())-1], "another", "quiet ones make room")
	})
}
