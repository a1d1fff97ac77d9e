package push

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCounts_KnowTheFateOfDatagrams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		answer := &state{}
		s := start(t, n, answer.answer)
		friend, silent := addr("127.0.0.1:1001"), addr("127.0.0.1:1002")
		n.ackFrom(friend)
		subscribe(t, s, "svc", friend)
		subscribe(t, s, "svc", silent)
		s.Change(key("svc"))
		time.Sleep(time.Second)
		require.Equal(t, Counts{Acked: 1}, s.Counts())
		waiting := s.Pending(10)
		require.Len(t, waiting, 1)
		require.Equal(t, silent, waiting[0].Addr)
		require.Equal(t, key("svc"), waiting[0].Service)
		require.Equal(t, 1, waiting[0].Sends)
		require.Positive(t, waiting[0].Sequence)
		require.Empty(t, s.Pending(0))
		time.Sleep(time.Minute)
		require.Equal(t, Counts{Acked: 1, Failed: 1}, s.Counts())
		require.Empty(t, s.Pending(10))
	})
}
