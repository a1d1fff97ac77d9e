package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/projection"
	"github.com/rollcall-go/rollcall/server/push"
	"github.com/rollcall-go/rollcall/server/state"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	goleak.VerifyTestMain(m)
}

const (
	java14 = "Nacos-Java-Client:v1.4.1"
	java09 = "Nacos-Java-Client:v0.9.0"
	goSDK  = "Nacos-Go-Client:v1.1.6"
	python = "Nacos-Python-Client:v0.1.16"
)

// fixture is an API on an engine of its own, without a network.
type fixture struct {
	t        testing.TB
	engine   *gin.Engine
	api      *API
	store    *naming.Store
	switches *naming.Switches
	state    *state.State
	proposer *direct
	push     *fakePush
	agent    string
	token    string // sent as the parameter accessToken
	form     bool   // writes send their parameters in the body
	unready  []string
	limited  string
	stopping bool
}

// direct applies proposals at once, or refuses them with an error.
type direct struct {
	*state.State
	err error
}

func (d *direct) Propose(_ context.Context, command []byte) (any, error) {
	if d.err != nil {
		return nil, d.err
	}
	if err := d.Check(command); err != nil {
		return nil, err
	}
	return d.Apply(command)
}

func newFixture(t testing.TB, change ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, engine: gin.New(), push: &fakePush{accept: true}, switches: naming.NewSwitches(), state: state.New()}
	f.proposer = &direct{State: f.state}
	f.store = naming.New(naming.Options{Switches: f.switches})
	t.Cleanup(func() { require.NoError(t, f.store.Close()) })
	f.state.OnApply(projection.New(f.store, f.switches, nil).Apply)
	key, err := auth.ParseKey("ZmVkY2JhOTg3NjU0MzIxMDAxMjM0NTY3ODlhYmNkZWY=")
	require.NoError(t, err)
	authenticator, err := auth.New(auth.Options{Users: projection.Users{State: f.state}, Key: key, Installation: "here"})
	require.NoError(t, err)
	o := Options{
		Store: f.store, Switches: f.switches, State: f.state, Proposer: f.proposer, Push: f.push, Auth: authenticator,
		Node:    func() Node { return Node{"192.0.2.200", 8848} },
		Unready: func() []string { return f.unready }, Limited: func() string { return f.limited },
		Stopping: func() bool { return f.stopping },
	}
	for _, f := range change {
		f(&o)
	}
	f.api, err = New(o)
	require.NoError(t, err)
	f.api.Mount(f.engine)
	return f
}

// apply has commands applied to the state.
func (f *fixture) apply(commands ...state.Command) {
	f.t.Helper()
	for _, c := range commands {
		_, err := state.Propose(context.Background(), f.proposer, c)
		require.NoError(f.t, err)
	}
}

// bothWays runs a scenario with the parameters of writes in the query and in a
// form body: clients do either.
func bothWays(t *testing.T, scenario func(t *testing.T, f *fixture)) {
	t.Helper()
	for name, form := range map[string]bool{"query": false, "form": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.form = form
			scenario(t, f)
		})
	}
}

// naming's root; the paths of tests are below it unless they begin with a slash.
const root = "/v1/ns/"

// send makes a request such as "PUT instance/beat" with pairs of parameters.
func (f *fixture) send(request string, pairs ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	if !strings.HasPrefix(path, "/") {
		path = root + path
	}
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	if f.token != "" {
		values.Set("accessToken", f.token)
	}
	var r *http.Request
	if f.form && method != http.MethodGet {
		r = httptest.NewRequest(method, path, strings.NewReader(values.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
	} else {
		r = httptest.NewRequest(method, path+"?"+values.Encode(), http.NoBody)
	}
	if f.agent != "" {
		r.Header.Set("User-Agent", f.agent)
	}
	return f.serve(r)
}

func (f *fixture) serve(r *http.Request) *httptest.ResponseRecorder {
	f.t.Helper()
	w := httptest.NewRecorder()
	f.engine.ServeHTTP(w, r)
	require.Equal(f.t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	require.NotContains(f.t, w.Header().Get("Content-Type"), "html")
	require.NotContains(f.t, []int{301, 302, 303, 307, 308}, w.Code, "never a redirect")
	return w
}

// want sends a request and compares the whole answer, written "200 ok".
func (f *fixture) want(answer, request string, pairs ...string) {
	f.t.Helper()
	w := f.send(request, pairs...)
	require.Equal(f.t, answer, strconv.Itoa(w.Code)+" "+w.Body.String(), "%s %v", request, pairs)
	contentType := "text/plain;charset=UTF-8"
	if strings.HasPrefix(w.Body.String(), "{") || strings.HasPrefix(w.Body.String(), "[") ||
		w.Body.String() == "true" || w.Body.String() == "false" {
		contentType = "application/json;charset=UTF-8"
	}
	require.Equal(f.t, contentType, w.Header().Get("Content-Type"))
}

// wantStatus is for answers whose text does not matter.
func (f *fixture) wantStatus(status int, request string, pairs ...string) string {
	f.t.Helper()
	w := f.send(request, pairs...)
	require.Equal(f.t, status, w.Code, "%s %v: %s", request, pairs, w.Body)
	return w.Body.String()
}

// list asks for a service's instances.
func (f *fixture) list(pairs ...string) wire.ServiceList {
	f.t.Helper()
	var l wire.ServiceList
	require.NoError(f.t, json.Unmarshal([]byte(f.wantStatus(200, "GET instance/list", pairs...)), &l))
	return l
}

// hosts lists a service as "ip:port" texts.
func (f *fixture) hosts(pairs ...string) []string {
	f.t.Helper()
	all := []string{}
	for _, h := range f.list(pairs...).Hosts {
		all = append(all, h.IP+":"+strconv.Itoa(h.Port))
	}
	return all
}

// fakePush takes or refuses subscriptions and remembers them.
type fakePush struct {
	accept      bool
	requests    []push.Request
	subscribers []push.Subscriber
	counts      push.Counts
	pending     []push.Pending
}

func (p *fakePush) Counts() push.Counts { return p.counts }

func (p *fakePush) Pending(most int) []push.Pending { return p.pending[:min(most, len(p.pending))] }

func (p *fakePush) Subscribe(r push.Request) bool {
	p.requests = append(p.requests, r)
	return p.accept
}

func (p *fakePush) Subscribers(match func(wire.ServiceKey) bool) (all []push.Subscriber) {
	for _, s := range p.subscribers {
		if match(s.Service) {
			all = append(all, s)
		}
	}
	return all
}

// post sends a body that is no form.
func (f *fixture) post(path, body string) string {
	f.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	w := f.serve(r)
	return strconv.Itoa(w.Code) + " " + w.Body.String()
}
