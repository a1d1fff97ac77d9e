package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx/fxtest"
)

// valve is a log target that blocks until it is opened.
type valve struct {
	open chan struct{}
	text bytes.Buffer
}

func (v *valve) Write(b []byte) (int, error) {
	<-v.open
	return v.text.Write(b)
}

func TestSB23_ALogTargetThatBlocksStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &valve{open: make(chan struct{})}
		lc := fxtest.NewLifecycle(t)
		logger := queueLogs(lc, slog.New(slog.NewTextHandler(v, nil)))
		lc.RequireStart()
		logger.With("a", 1).WithGroup("g").Info("first", "b", 2)
		synctest.Wait() // it is being written
		for range 2 * maxQueuedLogs {
			logger.Info("more") // never blocks
		}
		close(v.open)
		lc.RequireStop()
		text := v.text.String()
		require.Contains(t, text, "msg=first a=1 g.b=2\n")
		require.Equal(t, maxQueuedLogs, strings.Count(text, "msg=more"))
		require.Contains(t, text, `msg="log lines were lost, as the target did not keep up" count=1024`)
	})
}

func TestSB23_ALogTargetThatBlocksForeverDoesNotHoldUpTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &valve{open: make(chan struct{})}
		lc := fxtest.NewLifecycle(t)
		logger := queueLogs(lc, slog.New(slog.NewTextHandler(v, nil)))
		lc.RequireStart()
		logger.Info("stuck")
		began := time.Now()
		lc.RequireStop()
		require.Equal(t, logFlush, time.Since(began))
		close(v.open)
	})
}
