package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/internal/nacosclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// registry answers by method, path and service as Nacos does and keeps the
// changes.
type registry struct {
	answers map[string]string

	mu      sync.Mutex
	changes []string
}

func (s *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	key := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, strings.TrimPrefix(r.URL.Path, "/nacos/v1/"), q.Get("serviceName"), q.Get("show")))
	if r.Method != http.MethodGet {
		s.mu.Lock()
		s.changes = append(s.changes, fmt.Sprintf("%s %s:%s %s %s", key, q.Get("ip"), q.Get("port"), q.Get("protectThreshold"), q.Get("selector")))
		s.mu.Unlock()
	}
	answer, known := s.answers[key]
	if !known {
		w.WriteHeader(http.StatusNotFound)
		answer = "caused: " + key + " is not found!;"
	}
	if rest, refused := strings.CutPrefix(answer, "403"); refused {
		w.WriteHeader(http.StatusForbidden)
		answer = rest
	}
	_, _ = fmt.Fprint(w, answer)
}

func (s *registry) client(t *testing.T) *adminclient.Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := adminclient.New(nacosclient.Options{Servers: []string{server.URL + "/nacos"}, RequestTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

const (
	tcpCluster = `{"name":"DEFAULT","healthChecker":{"type":"TCP"},"defaultCheckPort":80,"useIPPort4Check":true,"metadata":{}}`
	none       = `"selector":{"type":"none"}`
)

func nacos() *registry {
	service := func(threshold float64, selector, clusters string) string {
		return fmt.Sprintf(`{"service":{"protectThreshold":%v,"metadata":{},%s},"clusters":[%s]}`, threshold, selector, clusters)
	}
	return &registry{answers: map[string]string{
		"GET console/namespaces": `{"code":200,"message":null,"data":[{"namespace":"","namespaceShowName":"public"}]}`,
		"GET ns/catalog/services": `{"count":4,"serviceList":[
			{"name":"set","groupName":"G"},{"name":"lives","groupName":"G"},{"name":"stays","groupName":"G"},{"name":"gone","groupName":"G"}]}`,
		"GET ns/catalog/service G@@set":     service(0.5, `"selector":{"type":"label","expression":"CONSUMER.label.a = PROVIDER.label.a"}`, ""),
		"GET ns/catalog/service G@@lives":   service(0, none, tcpCluster),
		"GET ns/catalog/service G@@stays":   service(0, none, tcpCluster+`,{"name":"h","healthChecker":{"type":"HTTP","path":"/ok","headers":"","expectedResponseCode":200},"defaultCheckPort":80,"useIPPort4Check":true}`),
		"GET ns/catalog/instances G@@lives": `{"count":1,"list":[{"ip":"127.0.0.1","port":1,"ephemeral":true,"clusterName":"DEFAULT"}]}`,
		"GET ns/catalog/instances G@@stays": `{"count":1,"list":[{"ip":"127.0.0.2","port":2,"weight":1,"enabled":true,"clusterName":"DEFAULT"}]}`,
	}}
}

func TestRun_TakesWhatIsPersistentOfANacos(t *testing.T) {
	target := &registry{answers: map[string]string{
		"GET console/namespaces":    `{"data":[]}`,
		"POST ns/service G@@set":    "ok",
		"POST ns/service G@@stays":  "ok",
		"PUT ns/cluster G@@stays":   "ok",
		"POST ns/instance G@@stays": "ok",
	}}
	var steps []Progress
	report, err := Run(t.Context(), Options{
		From: nacos().client(t), To: target.client(t),
		Progress: func(p Progress) { steps = append(steps, p) },
		Problem:  func(err error) { t.Error(err) },
	})
	require.NoError(t, err)
	// The instance of DEFAULT is listed for each cluster by this server.
	require.Equal(t, Report{
		Services: Tally{Created: 2, LeftOut: 1}, Clusters: Tally{Created: 1}, Instances: Tally{Created: 2, LeftOut: 1},
	}, report)
	require.Len(t, steps, 4)
	require.Equal(t, Progress{"public", 4, 4}, steps[3])
	require.Contains(t, target.changes, "POST ns/service G@@set : 0.5 "+
		"%7B%22type%22%3A%22label%22%2C%22expression%22%3A%22CONSUMER.label.a+%3D+PROVIDER.label.a%22%7D", "the selector is encoded once more")
	require.Contains(t, target.changes, "PUT ns/cluster G@@stays :  ")
	require.Contains(t, target.changes, "POST ns/instance G@@stays 127.0.0.2:2  ")
}

// TestRun_CountsWhatACleanUpWouldRemove: services with settings are not among it.
func TestRun_CountsWhatACleanUpWouldRemove(t *testing.T) {
	source, target := nacos(), &registry{answers: map[string]string{
		"GET console/namespaces": `{"data":[]}`, "POST ns/service G@@set": "ok", "POST ns/service G@@bare": "ok",
	}}
	source.answers["GET ns/catalog/services"] = `{"count":2,"serviceList":[{"name":"set","groupName":"G"},{"name":"bare","groupName":"G"}]}`
	source.answers["GET ns/catalog/service G@@bare"] = `{"service":{"protectThreshold":0,"metadata":{},` + none + `},"clusters":[]}`
	report, err := Run(t.Context(), Options{From: source.client(t), To: target.client(t), Problem: func(err error) { t.Error(err) }})
	require.NoError(t, err)
	require.Equal(t, 2, report.Services.Created)
	require.Equal(t, 1, report.WithoutInstances)
}

func TestRun_GoesOnPastWhatFailsByItself(t *testing.T) {
	target := &registry{answers: map[string]string{
		"GET console/namespaces": `{"data":[]}`, "POST ns/service G@@set": "ok",
	}}
	var problems []error
	report, err := Run(t.Context(), Options{
		From: nacos().client(t), To: target.client(t), Problem: func(err error) { problems = append(problems, err) },
	})
	require.NoError(t, err)
	require.Equal(t, Tally{Created: 1, LeftOut: 1, Failed: 1}, report.Services)
	require.Equal(t, 1, report.Failed())
	require.Len(t, problems, 1)
	require.ErrorContains(t, problems[0], "service public/G@@stays: ")
	require.NotContains(t, strings.Join(target.changes, "\n"), "ns/instance", "there is no service for them")
}

func TestRun_StopsWhereThereIsNoUse(t *testing.T) {
	refusing := &registry{answers: map[string]string{
		"GET console/namespaces": `{"data":[]}`, "POST ns/service G@@set": "403authorization failed!",
	}}
	_, err := Run(t.Context(), Options{From: nacos().client(t), To: refusing.client(t)})
	require.ErrorIs(t, err, adminclient.ErrRefused)

	away, err := adminclient.New(nacosclient.Options{Servers: []string{"127.0.0.1:1"}})
	require.NoError(t, err)
	defer func() { require.NoError(t, away.Close()) }()
	_, err = Run(t.Context(), Options{From: away, To: refusing.client(t)})
	require.ErrorIs(t, err, adminclient.ErrUnreachable)
}

// A caller who may only read is not told passwords, and that must not wipe them.
func TestRun_PasswordsThatTheSourceDoesNotTell(t *testing.T) {
	check := func(user, password string) string {
		return fmt.Sprintf(`{"service":{"protectThreshold":0,"metadata":{},%s},"clusters":[{"name":"db",`+
			`"healthChecker":{"type":"MYSQL","user":%q,"pwd":%q,"cmd":"select 1"},"defaultCheckPort":80,"useIPPort4Check":true}]}`,
			none, user, password)
	}
	for name, c := range map[string]struct {
		source, target string // "" is a target without the service
		want           Tally
	}{
		"kept":                {check("u", ""), check("u", "secret"), Tally{Same: 1}},
		"none on either side": {check("u", ""), check("u", ""), Tally{Same: 1}},
		"another user":        {check("v", ""), check("u", "secret"), Tally{Failed: 1}},
		"new":                 {check("u", ""), "", Tally{Failed: 1}},
		"told":                {check("u", "new"), check("u", "secret"), Tally{Changed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			source := &registry{answers: map[string]string{
				"GET console/namespaces":       `{"data":[{"namespace":""}]}`,
				"GET ns/catalog/services":      `{"count":1,"serviceList":[{"name":"db","groupName":"G"}]}`,
				"GET ns/catalog/service G@@db": c.source,
			}}
			target := &registry{answers: map[string]string{
				"GET console/namespaces": `{"data":[]}`, "POST ns/service G@@db": "ok", "PUT ns/cluster G@@db": "ok",
			}}
			if c.target != "" {
				target.answers["GET ns/catalog/service G@@db"] = c.target
			}
			report, err := Run(t.Context(), Options{From: source.client(t), To: target.client(t)})
			require.NoError(t, err)
			require.Equal(t, c.want, report.Clusters)
			require.Equal(t, c.want.Changed > 0, strings.Contains(strings.Join(target.changes, "\n"), "ns/cluster"))
		})
	}
}

// A namespace without a label that could not have been created is in use and
// nothing else.
func TestRun_NamespacesThatAreMerelyInUse(t *testing.T) {
	list := `{"data":[{"namespace":"é","namespaceShowName":"é"},{"namespace":"ü","namespaceShowName":"label"},` +
		`{"namespace":"dev","namespaceShowName":"dev"}]}`
	source := &registry{answers: map[string]string{
		"GET console/namespaces": list, "GET console/namespaces  all": `{"namespaceDesc":""}`,
		"GET ns/catalog/services": `{"count":0,"serviceList":[]}`,
	}}
	target := &registry{answers: map[string]string{"GET console/namespaces": `{"data":[]}`, "POST console/namespaces": "true"}}
	for _, dryRun := range []bool{true, false} {
		report, err := Run(t.Context(), Options{From: source.client(t), To: target.client(t), DryRun: dryRun})
		require.NoError(t, err)
		require.Equal(t, Tally{Created: 2, LeftOut: 1}, report.Namespaces, "a label is worth an attempt")
	}
	require.Len(t, target.changes, 2)
}

// An instance that beats at the same address is another instance.
func TestRun_AnEphemeralInstanceBesideAPersistentOne(t *testing.T) {
	const (
		beats = `{"ip":"127.0.0.2","port":2,"weight":1,"enabled":true,"ephemeral":true,"clusterName":"DEFAULT"}`
		stays = `{"ip":"127.0.0.2","port":2,"weight":1,"enabled":true,"clusterName":"DEFAULT"}`
	)
	source := &registry{answers: map[string]string{
		"GET console/namespaces":           `{"data":[{"namespace":""}]}`,
		"GET ns/catalog/services":          `{"count":1,"serviceList":[{"name":"both","groupName":"G"}]}`,
		"GET ns/catalog/service G@@both":   `{"service":{"protectThreshold":0,"metadata":{},` + none + `},"clusters":[` + tcpCluster + `]}`,
		"GET ns/catalog/instances G@@both": `{"count":1,"list":[` + stays + `]}`,
	}}
	for name, c := range map[string]struct {
		there string
		want  Tally
	}{
		"only the one that beats": {`{"count":1,"list":[` + beats + `]}`, Tally{Created: 1}},
		"both":                    {`{"count":2,"list":[` + beats + `,` + stays + `]}`, Tally{Same: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			target := &registry{answers: map[string]string{
				"GET console/namespaces": `{"data":[]}`, "POST ns/instance G@@both": "ok",
				"GET ns/catalog/service G@@both":   source.answers["GET ns/catalog/service G@@both"],
				"GET ns/catalog/instances G@@both": c.there,
			}}
			report, err := Run(t.Context(), Options{From: source.client(t), To: target.client(t)})
			require.NoError(t, err)
			require.Equal(t, c.want, report.Instances)
		})
	}
}

func TestSameInstance(t *testing.T) {
	of := func(app string) adminclient.Instance {
		return adminclient.Instance{Weight: 1, Enabled: true, Metadata: map[string]string{"k": "v"}, App: app}
	}
	require.True(t, sameInstance(of("shop"), of("shop")))
	require.True(t, sameInstance(of(""), of("DEFAULT")), "not told")
	require.False(t, sameInstance(of("shop"), of("DEFAULT")))
	disabled := of("shop")
	disabled.Enabled, disabled.Healthy = false, true
	require.False(t, sameInstance(of("shop"), disabled))
	disabled.Enabled = true
	require.True(t, sameInstance(of("shop"), disabled), "health is each registry's own")
}

func TestSameDocument(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"type":"TCP"}`, `{ "type" : "TCP" }`, true},
		{`{"type":"HTTP","path":"/ok","headers":""}`, `{"path":"/ok","type":"HTTP"}`, true},
		{`{"type":"HTTP","path":"/ok"}`, `{"type":"HTTP","path":"/no"}`, false},
		{`{"type":"label","labels":[]}`, `{"type":"label"}`, true},
		{`x`, `x`, true},
		{`x`, `{}`, false},
	} {
		require.Equal(t, c.same, sameDocument(json.RawMessage(c.a), json.RawMessage(c.b)), c)
	}
}

// FuzzSameChecker has documents of a registry compared: each is the same as
// itself, and the order makes no difference where both tell everything.
func FuzzSameChecker(f *testing.F) {
	f.Add(`{"type":"MYSQL","user":"u","pwd":"","cmd":"select 1"}`, `{"type":"MYSQL","user":"u","pwd":"secret","cmd":"select 1"}`)
	f.Add(`{"type":"TCP"}`, `{"type":"TCP","headers":{}}`)
	f.Add(`null`, `[{"type":1}]`)
	f.Fuzz(func(t *testing.T, source, target string) {
		a, b := json.RawMessage(source), json.RawMessage(target)
		require.True(t, sameChecker(a, a))
		require.Equal(t, sameDocument(a, b), sameDocument(b, a))
		if !lacksPassword(a) {
			require.Equal(t, sameDocument(a, b), sameChecker(a, b))
		}
	})
}

func TestFailed_TellsWhatEndsEverything(t *testing.T) {
	r := &run{Options: Options{Problem: func(error) {}}}
	require.NoError(t, r.failed(&r.report.Services, "x", errors.New("of its own")))
	require.Error(t, r.failed(&r.report.Services, "x", adminclient.ErrRefused))
	require.Equal(t, 1, r.report.Services.Failed)
}
