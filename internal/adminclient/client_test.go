package adminclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answering returns a client of a server that answers by method and path.
func answering(t *testing.T, answers map[string]string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.Method+" "+strings.TrimPrefix(r.URL.Path, "/nacos")]
		if !known {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		status, body := http.StatusOK, answer
		if number, rest, ok := strings.Cut(answer, " "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				status, body = n, rest
			}
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	c, err := New(nacosclient.Options{Servers: []string{server.URL + "/nacos"}, RequestTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

var orders = wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "G", Name: "orders"}}

func TestClient_TellsErrorsApart(t *testing.T) {
	const path = "GET /v1/ns/catalog/service"
	for _, c := range []struct {
		answer string
		kind   error
		text   string
	}{
		{"404 caused: service G@@orders is not found!;", ErrNotFound, "service G@@orders is not found!"},
		{"500 caused: serivce G@@orders is not found!;", ErrNotFound, "serivce G@@orders is not found!"},
		{"500 caused: java.lang.NullPointerException;", nil, "java.lang.NullPointerException"},
		{`403 {"status":403,"error":"Forbidden","message":"authorization failed!","path":"/x"}`, ErrRefused, "refused: authorization failed!"},
		{"401 ", ErrRefused, "refused: GET"},
		{"429 too many", ErrRefused, "refused: too many"},
		{"<html>", nil, "is not what was asked for"},
	} {
		t.Run(c.answer, func(t *testing.T) {
			_, err := answering(t, map[string]string{path: c.answer}).Service(t.Context(), orders)
			require.ErrorContains(t, err, c.text)
			for _, kind := range []error{ErrNotFound, ErrRefused, ErrUnreachable} {
				require.Equal(t, errors.Is(c.kind, kind), errors.Is(err, kind), "%v", kind)
			}
			var inner *nacosclient.Error
			require.ErrorAs(t, err, &inner, "the cause stays")
		})
	}
	c, err := New(nacosclient.Options{Servers: []string{"127.0.0.1:1"}})
	require.NoError(t, err)
	_, err = c.Namespaces(t.Context())
	require.ErrorIs(t, err, ErrUnreachable)
	require.ErrorContains(t, err, "127.0.0.1:1 does not answer")
	require.NoError(t, c.Close())
}

func TestClient_ChangesNeedTheirWord(t *testing.T) {
	c := answering(t, map[string]string{
		"POST /v1/ns/instance":        "<html>please log in</html>",
		"POST /v1/ns/service":         "ok",
		"POST /v1/console/namespaces": "false",
		"POST /v1/auth/users":         `{"code":403,"message":"nobody","data":null}`,
		"PUT /v1/auth/users":          `{"code":200,"message":"update user ok!"}`,
	})
	ctx := t.Context()
	require.ErrorContains(t, c.PutInstance(ctx, orders, Instance{IP: "127.0.0.1", Port: 1}), `the answer is not "ok"`)
	require.NoError(t, c.PutService(ctx, orders, Service{}, false))
	require.ErrorContains(t, c.PutNamespace(ctx, Namespace{ID: "a"}, false), `the answer is not "true"`)
	err := c.CreateUser(ctx, "x", "very-secret")
	require.ErrorContains(t, err, "the registry answers 403: nobody")
	require.NotContains(t, err.Error(), "very-secret")
	require.NoError(t, c.SetPassword(ctx, "x", "very-secret"))
}

func TestPages_EndWhenAllIsSeenOrNothingComes(t *testing.T) {
	for name, c := range map[string]struct{ got, totals []int }{
		"one page":               {[]int{3}, []int{3}},
		"two pages":              {[]int{3, 2}, []int{5, 5}},
		"shorter than promised":  {[]int{3, 0}, []int{5, 0}},
		"Nacos' count of a page": {[]int{3, 3, 0}, []int{9, 9, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			err := pages(func(q url.Values) (int, int, error) {
				require.Equal(t, fmt.Sprint(asked+1), q["pageNo"][0])
				asked++
				return c.got[asked-1], c.totals[asked-1], nil
			})
			require.NoError(t, err)
			require.Len(t, c.got, asked)
		})
	}
	require.ErrorIs(t, pages(func(url.Values) (int, int, error) { return 0, 0, context.Canceled }), context.Canceled)
}

func TestPages_WithoutAnEndAreAnError(t *testing.T) {
	for name, c := range map[string]struct {
		got   int
		pages int
		want  string
	}{
		"small pages": {1, maxPages, "the list does not end: after 1000 pages with 1000 entries there are said to be 1001"},
		"full pages":  {pageSize, maxListed/pageSize + 1, "the list does not end: after 201 pages with 2010000 entries there are said to be 2010001"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			err := pages(func(url.Values) (int, int, error) {
				asked++
				return c.got, c.got*asked + 1, nil
			})
			require.EqualError(t, err, c.want)
			require.Equal(t, c.pages, asked)
		})
	}
}
