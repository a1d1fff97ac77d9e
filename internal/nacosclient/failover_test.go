package nacosclient_test

import (
	"context"
	"math"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

// Each of n servers is up, refuses or answers 500; the request succeeds iff one
// is up, and no server is asked twice.
func TestCase14_EachServerOncePerRequest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(rt, "servers")
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"up", "refuses", "broken"}), n, n).Draw(rt, "kinds")
		start := rapid.IntRange(0, n-1).Draw(rt, "start")
		synctest.Test(t, func(t *testing.T) {
			c := testutil.NewCluster(t, n)
			for i, kind := range kinds {
				switch kind {
				case "refuses":
					require.NoError(t, c.Listeners[i].Close())
				case "broken":
					c.Nodes[i].SetFault(testutil.Always(testutil.Fault{Status: 500, Body: "broken"}))
				}
			}
			client := newClient(t, c, func(o *nacosclient.Options) { o.Rand = func(int) int { return start } })
			for range 3 {
				c.ForgetRequests()
				_, err := client.ServerStatus(t.Context())
				require.Equal(t, slices.Contains(kinds, "up"), err == nil, "%v", err)
				require.LessOrEqual(t, slices.Max(c.Requests()), 1, "a server was asked twice")
			}
		})
	})
}

func TestCR9_RandomStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 3)
		next := 0
		client := newClient(t, c, func(o *nacosclient.Options) {
			o.Rand = func(n int) int { next++; return (next - 1) % n }
		})
		for range 3 {
			_, err := client.ServerStatus(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, []int{1, 1, 1}, c.Requests())
	})
}

func TestCR9_AFailedServerIsLastForTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 3)
		client := newClient(t, c, nil)
		ask := func() []int {
			c.ForgetRequests()
			_, err := client.ServerStatus(t.Context())
			require.NoError(t, err)
			return c.Requests()
		}
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 503}))
		require.Equal(t, []int{1, 1, 0}, ask())
		time.Sleep(9 * time.Second)
		require.Equal(t, []int{0, 1, 0}, ask(), "put last")
		time.Sleep(2 * time.Second)
		require.Equal(t, []int{1, 1, 0}, ask(), "forgiven")
		c.Nodes[0].SetFault(nil)
		c.Nodes[1].SetFault(testutil.Always(testutil.Fault{Status: 500}))
		c.Nodes[2].SetFault(testutil.Always(testutil.Fault{Status: 500}))
		require.Equal(t, []int{1, 1, 1}, ask(), "a server put last is still asked when the others fail")
		require.Equal(t, []int{1, 0, 0}, ask(), "and one that answered is forgiven at once")
	})
}

// Who may not do something learns nothing about the server's health.
func TestCR9_AMissingRightIsNoFailureOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		client := newClient(t, c, nil)
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 403}))
		for range 3 {
			c.ForgetRequests()
			_, err := client.ServerStatus(t.Context())
			require.NoError(t, err)
			require.Equal(t, []int{1, 1}, c.Requests(), "it is asked first again")
		}
	})
}

func TestCR9_WhichAnswersAreFinal(t *testing.T) {
	for status, final := range map[int]bool{
		400: true, 401: true, 405: true, 413: true,
		403: false, 404: false, 429: false, 500: false, 501: false, 502: false, 503: false, 301: false, 304: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := testutil.NewCluster(t, 2)
			c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: status, Body: "no"}))
			_, err := newClient(t, c, nil).ServerStatus(t.Context())
			if !final {
				require.NoError(t, err, "status %d", status)
				return
			}
			var failed *nacosclient.Error
			require.ErrorAs(t, err, &failed, "status %d", status)
			require.Equal(t, status, failed.Status)
			require.Equal(t, []int{1, 0}, c.Requests())
		})
	}
}

func TestCR9_BudgetOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 4)
		for _, node := range c.Nodes[:3] {
			node.SetFault(testutil.Always(silent))
		}
		client := newClient(t, c, nil)
		began := time.Now()
		_, err := client.ServerStatus(t.Context())
		require.NoError(t, err, "three silent servers leave time for the fourth")
		require.LessOrEqual(t, time.Since(began), 10*time.Second)

		c.Nodes[3].SetFault(testutil.Always(silent))
		began = time.Now()
		_, err = client.ServerStatus(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(began), 10*time.Second)
	})
}

func TestCR9_AShortDeadlineStillReachesTheSecondServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		c.Nodes[0].SetFault(testutil.Always(silent))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := newClient(t, c, nil).ServerStatus(ctx)
		require.NoError(t, err)
	})
}

func TestCR9_AnAnswerThatIsNoneIsTheServersFailure(t *testing.T) {
	for _, body := range []string{"", "{}", "<html>login</html>", "null", `{"status":7}`} {
		synctest.Test(t, func(t *testing.T) {
			c := testutil.NewCluster(t, 2)
			c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 200, Body: body}))
			client := newClient(t, c, nil)
			status, err := client.ServerStatus(t.Context())
			require.NoError(t, err, body)
			require.Equal(t, "UP", status)
			require.Equal(t, []int{1, 1}, c.Requests())
			_, err = client.List(t.Context(), registry.ServiceID{Name: "s"}, 0, "")
			require.NoError(t, err)
			require.NoError(t, client.Register(t.Context(), registration()))
			require.Len(t, c.Nodes[1].Instances("public", "DEFAULT_GROUP@@orders"), 1, "registered where it counts")
		})
	}
}

func TestSingleServerIsRetriedWhereItHelps(t *testing.T) {
	tests := []struct {
		name  string
		fault testutil.Fault
		want  int
	}{
		{"reset", testutil.Fault{Reset: true}, 3},
		{"503", testutil.Fault{Status: 503}, 3},
		{"500", testutil.Fault{Status: 500}, 3},
		{"no answer in time", silent, 1},
		{"404", testutil.Fault{Status: 404}, 1},
		{"403", testutil.Fault{Status: 403}, 1},
		{"429", testutil.Fault{Status: 429}, 1},
		{"501", testutil.Fault{Status: 501}, 1},
		{"400", testutil.Fault{Status: 400}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testutil.NewCluster(t, 1)
				c.Nodes[0].SetFault(testutil.Always(test.fault))
				began := time.Now()
				_, err := newClient(t, c, nil).ServerStatus(t.Context())
				var failed *nacosclient.Error
				require.ErrorAs(t, err, &failed)
				require.Equal(t, test.fault.Status, failed.Status)
				require.Equal(t, []int{test.want}, c.Requests())
				require.LessOrEqual(t, time.Since(began), 10*time.Second)
			})
		})
	}
	t.Run("recovers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := testutil.NewCluster(t, 1)
			left := 2
			c.Nodes[0].SetFault(func(testutil.Request) *testutil.Fault {
				if left--; left >= 0 {
					return &testutil.Fault{Status: 502}
				}
				return nil
			})
			_, err := newClient(t, c, nil).ServerStatus(t.Context())
			require.NoError(t, err)
		})
	})
}

func TestCallerWhoGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		c.Nodes[0].SetFault(testutil.Always(silent))
		client := newClient(t, c, nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := client.ServerStatus(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, []int{1, 0}, c.Requests(), "nobody else is asked")

		c.Nodes[0].SetFault(nil)
		c.ForgetRequests()
		_, err = client.ServerStatus(ctx)
		require.ErrorIs(t, err, context.Canceled)
		_, err = client.ServerStatus(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{1, 0}, c.Requests(), "and the server is not blamed")
	})
}

func TestErrorNamesServerStatusAndBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 400, Body: "caused: Param 'ip' is required.;\n"}))
		err := newClient(t, c, nil).Register(t.Context(), registration())
		require.EqualError(t, err, `POST /v1/ns/instance at 192.0.2.1:8848: status 400: "caused: Param 'ip' is required.;"`)
	})
}

func TestAnswersAreBounded(t *testing.T) {
	client, err := nacosclient.New(nacosclient.Options{
		Servers: []string{"h"},
		Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: endless{}}, nil
		}),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	_, err = client.ServerStatus(t.Context())
	require.ErrorContains(t, err, "larger than 1048576 bytes")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
func (endless) Close() error               { return nil }

// However often a lone server may be asked, the call ends with its time.
func TestCR9_AnyNumberOfRetriesFitsTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: 503}))
		client := newClient(t, c, func(o *nacosclient.Options) { o.MaxRetries = math.MaxInt })
		began := time.Now()
		_, err := client.ServerStatus(t.Context())
		require.ErrorContains(t, err, "503")
		require.LessOrEqual(t, time.Since(began), 10*time.Second)
		require.Less(t, c.Requests()[0], 10)
	})
}
