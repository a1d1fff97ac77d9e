package testutil_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
)

func TestFakeNacos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, l := testutil.NewFakeNacos(), testutil.NewListener()
		testutil.Serve(t, l, fake)
		client := &http.Client{Transport: testutil.Transport(t, l.Dial)}
		call := func(method, path string) (int, string) {
			req, err := http.NewRequestWithContext(t.Context(), method, "http://n/nacos/v1"+path, nil)
			require.NoError(t, err)
			resp, err := client.Do(req)
			if err != nil {
				return 0, err.Error()
			}
			defer func() { _ = resp.Body.Close() }()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			return resp.StatusCode, strings.TrimSpace(string(body))
		}
		const instance = "?serviceName=g%40%40s&ip=192.0.2.1&port=80"

		_, body := call(http.MethodPut, "/ns/instance/beat"+instance)
		require.JSONEq(t, `{"clientBeatInterval":5000,"code":20404}`, body)
		_, body = call(http.MethodPost, "/ns/instance"+instance+"&weight=2.5")
		require.Equal(t, "ok", body)
		_, body = call(http.MethodPut, "/ns/instance/beat"+instance)
		require.JSONEq(t, `{"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}`, body)
		require.Equal(t, 2.5, fake.Instances("public", "g@@s")[0].Weight)
		_, body = call(http.MethodGet, "/ns/instance/list?serviceName=g%40%40s")
		require.Contains(t, body, `"instanceId":"192.0.2.1#80#DEFAULT#g@@s"`)
		_, body = call(http.MethodGet, "/ns/service/list?pageNo=1&pageSize=10&groupName=g")
		require.JSONEq(t, `{"doms":["s"],"count":1}`, body)

		time.Sleep(16 * time.Second)
		require.False(t, fake.Instances("public", "g@@s")[0].Healthy)
		time.Sleep(15 * time.Second)
		require.Empty(t, fake.Instances("public", "g@@s"))

		fake.SetFault(func(r testutil.Request) *testutil.Fault {
			if r.Is(http.MethodGet, "/ns/operator/metrics") {
				return &testutil.Fault{Delay: time.Minute, Status: 503, Body: "later"}
			}
			return &testutil.Fault{Reset: true}
		})
		status, body := call(http.MethodGet, "/ns/operator/metrics")
		require.Equal(t, 503, status)
		require.Equal(t, "later", body)
		status, _ = call(http.MethodDelete, "/ns/instance"+instance)
		require.Zero(t, status, "reset")
		fake.SetFault(nil)

		fake.RequireLogin("u", "p", time.Minute)
		status, _ = call(http.MethodGet, "/ns/operator/metrics")
		require.Equal(t, 403, status)
		status, _ = call(http.MethodPost, "/auth/users/login?username=u&password=wrong")
		require.Equal(t, 403, status)
		_, body = call(http.MethodPost, "/auth/users/login?username=u&password=p")
		require.JSONEq(t, `{"accessToken":"token-1","tokenTtl":60,"globalAdmin":true}`, body)
		_, body = call(http.MethodGet, "/ns/operator/metrics?accessToken=token-1")
		require.JSONEq(t, `{"status":"UP"}`, body)
		require.Len(t, fake.Beats(), 2)
	})
}
