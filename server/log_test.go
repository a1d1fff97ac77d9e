package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
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
		handler := slog.NewTextHandler(v, nil)
		queue := newQueuedLogs(handler)
		logger := slog.New(&queuedHandler{handler, queue})
		logger.With("a", 1).WithGroup("g").Info("first", "b", 2)
		synctest.Wait() // it is being written
		for range 2 * maxQueuedLogs {
			logger.Info("more") // never blocks
		}
		close(v.open)
		queue.close()
		text := v.text.String()
		require.Contains(t, text, "msg=first a=1 g.b=2\n")
		require.Equal(t, maxQueuedLogs, strings.Count(text, "msg=more"))
		require.Contains(t, text, `msg="log lines were lost, as the target did not keep up" count=1024`)
	})
}

func TestSB23_ALogTargetThatBlocksForeverDoesNotHoldUpTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &valve{open: make(chan struct{})}
		handler, end := logThrough(slog.NewTextHandler(v, nil))
		logger := slog.New(handler)
		logger.Info("stuck")
		began := time.Now()
		end()
		require.Equal(t, logFlush, time.Since(began))
		logger.Info("last words")
		require.Equal(t, 2*logFlush, time.Since(began))
		close(v.open)
		synctest.Wait()
		require.Contains(t, v.text.String(), "last words")
	})
}

func TestSB23_WhatRepeatsIsSummarised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &valve{open: make(chan struct{})}
		close(v.open)
		handler, end := logThrough(slog.NewTextHandler(v, nil))
		logger := slog.New(handler)
		for range 60 * 1000 {
			logger.Warn("the same once more", "port", 1)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(logInterval)
		end()
		lines := strings.Split(strings.TrimSuffix(v.text.String(), "\n"), "\n")
		require.LessOrEqual(t, len(lines), 2*(logBurst+1))
		require.Contains(t, v.text.String(), `msg="the same once more" port=1 muted=`)
	})
}
