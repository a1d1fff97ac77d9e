package nacosclient_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/testutil"
)

const loginPath = "/auth/users/login"

func withLogin(o *nacosclient.Options) { o.Username, o.Password = "nacos", "s3cr&t" }

func TestCR10_LoginInTheContractsForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].RequireLogin("nacos", "s3cr&t", time.Hour)
		client := newClient(t, c, withLogin)
		require.NoError(t, client.Register(t.Context(), registration()))
		require.NoError(t, client.LoginError())
		logins := c.Nodes[0].Requests(http.MethodPost, loginPath)
		require.Len(t, logins, 1)
		require.Equal(t, "nacos", logins[0].Query.Get("username"))
		require.Equal(t, "s3cr&t", logins[0].Form.Get("password"))
		require.False(t, logins[0].Query.Has("password"), "never in a request line")
		require.Equal(t, "token-1", c.Nodes[0].Requests(http.MethodPost, "/ns/instance")[0].Query.Get("accessToken"))
	})
}

func TestCR10_TokenIsRenewedAtNinetyPercentOfItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].RequireLogin("nacos", "s3cr&t", 100*time.Second)
		client := newClient(t, c, withLogin)
		ask := func() int {
			_, err := client.ServerStatus(t.Context())
			require.NoError(t, err)
			return len(c.Nodes[0].Requests(http.MethodPost, loginPath))
		}
		require.Equal(t, 1, ask())
		time.Sleep(89 * time.Second)
		require.Equal(t, 1, ask())
		time.Sleep(2 * time.Second)
		require.Equal(t, 2, ask())
	})
}

func TestCR10_ATokenThatLivesForeverIsKept(t *testing.T) {
	for _, seconds := range []int64{1_500_000_000, math.MaxInt64} {
		logins := 0
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, loginPath) {
				logins++
				return saying(http.StatusOK, fmt.Sprintf(`{"accessToken":"t","tokenTtl":%d}`, seconds))(r)
			}
			return saying(http.StatusOK, `{"status":"UP"}`)(r)
		})
		client, err := nacosclient.New(nacosclient.Options{
			Servers: []string{"192.0.2.1"}, Username: "fleet", Password: "secret", Transport: transport,
		})
		require.NoError(t, err)
		for range 3 {
			_, err := client.ServerStatus(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, 1, logins, "%d s", seconds)
		require.NoError(t, client.Close())
	}
}

func TestCR10_ForbiddenLogsInOnceAndRepeatsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].RequireLogin("nacos", "s3cr&t", time.Hour)
		client := newClient(t, c, withLogin)
		_, err := client.ServerStatus(t.Context())
		require.NoError(t, err)
		c.Nodes[0].RevokeTokens()
		c.ForgetRequests()
		_, err = client.ServerStatus(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{3}, c.Requests(), "403, login, repeat")

		// A right that is missing is not cured by a login.
		c.Nodes[0].SetFault(func(r testutil.Request) *testutil.Fault {
			if r.Is(http.MethodGet, "/ns/operator/metrics") {
				return &testutil.Fault{Status: 403, Body: "authorization failed!"}
			}
			return nil
		})
		c.ForgetRequests()
		_, err = client.ServerStatus(t.Context())
		require.ErrorContains(t, err, "authorization failed!")
		require.Equal(t, []int{3}, c.Requests())
	})
}

// One login and one repetition are for a whole request, however many servers
// forbid it.
func TestCR10_OneLoginForAllServersOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 3)
		for _, node := range c.Nodes {
			node.RequireLogin("nacos", "s3cr&t", time.Hour)
			node.SetFault(func(r testutil.Request) *testutil.Fault {
				if r.Is(http.MethodGet, "/ns/operator/metrics") {
					return &testutil.Fault{Status: 403, Body: "authorization failed!"}
				}
				return nil
			})
		}
		client := newClient(t, c, withLogin)
		_, err := client.ServerStatus(t.Context())
		require.Error(t, err)
		c.ForgetRequests()
		_, err = client.ServerStatus(t.Context())
		require.ErrorContains(t, err, "authorization failed!")
		require.Equal(t, []int{3, 1, 1}, c.Requests(), "403, login, repeat; and the others once")
	})
}

func TestCR10_LoginFailureIsVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].RequireLogin("nacos", "other", time.Hour)
		client := newClient(t, c, withLogin)
		_, err := client.ServerStatus(t.Context())
		require.ErrorContains(t, err, "unknown user!", "the caller learns why it is forbidden")
		require.ErrorContains(t, client.LoginError(), "unknown user!")
		require.NotContains(t, err.Error(), "s3cr")
		require.Len(t, c.Nodes[0].Requests(http.MethodPost, loginPath), 1)
		_, err = client.ServerStatus(t.Context())
		require.Error(t, err)
		require.Len(t, c.Nodes[0].Requests(http.MethodPost, loginPath), 1, "wrong credentials do not hammer the server")

		c.Nodes[0].RequireLogin("nacos", "s3cr&t", time.Hour)
		time.Sleep(6 * time.Second)
		_, err = client.ServerStatus(t.Context())
		require.NoError(t, err)
		require.NoError(t, client.LoginError())
	})
}

func TestCR10_LoginsThatGoOnFailingAreToldOfEverMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].RequireLogin("nacos", "other", time.Hour)
		client := newClient(t, c, func(o *nacosclient.Options) {
			withLogin(o)
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		askFor := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(6 * time.Second) {
				_, _ = client.ServerStatus(t.Context())
			}
		}
		const failed = `msg="login to the registry failed"`
		askFor(59 * time.Second)
		require.Equal(t, 1, strings.Count(log.String(), failed))
		require.Contains(t, log.String(), "failures=1 ")
		askFor(10*time.Minute - 59*time.Second)
		require.Equal(t, 4, strings.Count(log.String(), failed), "after 0, 1, 3 and 7 minutes")

		c.Nodes[0].SetFault(testutil.Always(testutil.Fault{Status: http.StatusBadGateway}))
		askFor(10 * time.Second)
		require.Equal(t, 5, strings.Count(log.String(), failed), "another reason is news")

		c.Nodes[0].SetFault(nil)
		c.Nodes[0].RequireLogin("nacos", "s3cr&t", time.Hour)
		askFor(12 * time.Second)
		require.Equal(t, 5, strings.Count(log.String(), failed))
		require.Equal(t, 1, strings.Count(log.String(), `msg="login to the registry works again"`))
	})
}

func TestCR10_LoginOnTheNextServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 2)
		require.NoError(t, c.Listeners[0].Close())
		c.Nodes[1].RequireLogin("nacos", "s3cr&t", time.Hour)
		_, err := newClient(t, c, withLogin).ServerStatus(t.Context())
		require.NoError(t, err)
	})
}

func TestCR10_AFailedLoginDoesNotStopAServerWithoutOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].SetFault(func(r testutil.Request) *testutil.Fault {
			if r.Is(http.MethodPost, loginPath) {
				return &testutil.Fault{Status: 404}
			}
			return nil
		})
		client := newClient(t, c, withLogin)
		_, err := client.ServerStatus(t.Context())
		require.NoError(t, err)
		require.Error(t, client.LoginError())
	})
}

func TestCR10_ManyCallersLogInOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		c.Nodes[0].RequireLogin("nacos", "s3cr&t", time.Hour)
		client := newClient(t, c, withLogin)
		for range 2 {
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if _, err := client.ServerStatus(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			c.Nodes[0].RevokeTokens()
		}
		require.Len(t, c.Nodes[0].Requests(http.MethodPost, loginPath), 2)
	})
}

// A life of decades is not multiplied into the past.
func TestCR10_OddLivesOfTokens(t *testing.T) {
	for name, life := range map[string]time.Duration{
		"forty years": 40 * 365 * 24 * time.Hour, "the largest 32-bit number of seconds": math.MaxInt32 * time.Second, "two centuries": 200 * 365 * 24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testutil.NewCluster(t, 1)
				c.Nodes[0].RequireLogin("nacos", "s3cr&t", life)
				client := newClient(t, c, withLogin)
				logins := func() int {
					_, err := client.ServerStatus(t.Context())
					require.NoError(t, err)
					return len(c.Nodes[0].Requests(http.MethodPost, loginPath))
				}
				for range 5 {
					require.Equal(t, 1, logins())
					time.Sleep(time.Minute)
				}
				time.Sleep(25 * time.Hour)
				require.Equal(t, 2, logins())
			})
		})
	}
}
