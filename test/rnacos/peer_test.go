package rnacos

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	discoverynacos "github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/nacos"
	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/internal/process"
	"github.com/rollcall-go/rollcall/test/testserver"
)

const (
	// readyWithin is how long r-nacos may take to answer after its start.
	readyWithin = time.Minute
	// startTries is how often it is started: it writes to its log as it sets it up,
	// and panics when it is too early, which on a busy machine is every other time.
	startTries = 30
	// within is how long a change may take to be seen.
	within = time.Minute
)

// peer is an r-nacos of its own on loopback. It keeps its ports when it is started
// again, and has forgotten everything else.
type peer struct {
	port int
	env  []string
	// ready asks for what is there only once it serves.
	ready   func() error
	running *process.Process
}

// needPeer skips a test where there is no r-nacos.
func needPeer(t *testing.T) {
	t.Helper()
	if rnacos.absent != "" {
		t.Skip(rnacos.absent)
	}
}

// startPeer starts an r-nacos with settings of the form NAME=value.
func startPeer(t *testing.T, settings ...string) *peer {
	t.Helper()
	p := newPeer(t, settings...)
	p.start(t)
	return p
}

// timeouts are the settings with which an instance is unhealthy and removed so
// long after its last beat, at least 3 s: r-nacos adds that to what it is told. It
// looks every other second.
func timeouts(unhealthy, remove time.Duration) []string {
	const added = 3 * time.Second
	return []string{
		fmt.Sprintf("RNACOS_NAMING_HEALTH_TIMEOUT_SECOND=%d", (unhealthy-added)/time.Second),
		fmt.Sprintf("RNACOS_NAMING_INSTANCE_TIMEOUT_SECOND=%d", (remove-added)/time.Second),
	}
}

// newPeer reserves the ports of an r-nacos that does not run yet.
func newPeer(t *testing.T, settings ...string) *peer {
	t.Helper()
	needPeer(t)
	p := &peer{port: testserver.FreePort(t)}
	grpc, console := strconv.Itoa(testserver.FreePort(t)), strconv.Itoa(testserver.FreePort(t))
	p.env = append([]string{
		"RNACOS_SDK_HOST=127.0.0.1",
		"RNACOS_CONSOLE_HOST=127.0.0.1",
		"RNACOS_HTTP_PORT=" + strconv.Itoa(p.port),
		"RNACOS_GRPC_PORT=" + grpc,
		"RNACOS_HTTP_CONSOLE_PORT=" + console,
		"RNACOS_RAFT_NODE_ADDR=127.0.0.1:" + grpc,
		"RNACOS_HTTP_WORKERS=2",
		"RNACOS_ENABLE_METRICS=false",
		"RUST_LOG=warn",
	}, settings...)
	p.ready = func() error {
		_, err := p.call(http.MethodGet, "/health", nil)
		return err
	}
	return p
}

// start runs it with an empty memory and returns when it is ready to serve.
func (p *peer) start(t *testing.T) {
	t.Helper()
	for range startTries {
		if p.tryStart(t) {
			return
		}
	}
	t.Fatalf("r-nacos panicked at each of %d starts", startTries)
}

// tryStart returns false where r-nacos panicked as it started.
func (p *peer) tryStart(t *testing.T) (ok bool) {
	t.Helper()
	data := t.TempDir()
	cmd := exec.Command(rnacos.binary)
	cmd.Dir = data
	cmd.Env = append([]string{"HOME=" + data, "RNACOS_DATA_DIR=" + data}, p.env...)
	p.running = process.Start(t, "r-nacos on "+p.addr(), cmd)
	poll.Until(t, readyWithin, func() error {
		select {
		case <-p.running.Exited():
			return errors.New("r-nacos has ended")
		default:
		}
		switch output := p.running.Output(); {
		case strings.Contains(output, "panicked"):
			return nil
		case !strings.Contains(output, "rnacos started"):
			return errors.New("r-nacos is starting")
		}
		err := p.ready()
		ok = err == nil
		return err
	})
	if !ok {
		p.kill()
	}
	return ok
}

// kill ends it at once, as a crash does.
func (p *peer) kill() { p.running.Kill() }

func (p *peer) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// call sends a request of somebody else, an operator or another client, with the
// parameters in its query. Any status but 200 is an error.
func (p *peer) call(method, path string, params url.Values) (string, error) {
	return testserver.Call(p.addr(), method, path, params)
}

// instanceParams name an instance.
func instanceParams(i registry.Instance) url.Values {
	id := i.Service.Normalize()
	return url.Values{
		"namespaceId": {id.Namespace}, "serviceName": {id.Grouped()}, "clusterName": {i.Cluster},
		"ip": {i.IP}, "port": {strconv.Itoa(i.Port)}, "ephemeral": {strconv.FormatBool(i.Ephemeral)},
	}
}

// newRegistry returns our registry over the peer; it is closed with the test.
func (p *peer) newRegistry(t *testing.T, o nacos.Options) *nacos.Registry {
	t.Helper()
	o.Servers = []string{p.addr()}
	r, err := nacos.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// newSource returns our source over the peer; it is closed with the test.
func (p *peer) newSource(t *testing.T, o discoverynacos.Options) *discoverynacos.Source {
	t.Helper()
	o.Servers = []string{p.addr()}
	s, err := discoverynacos.NewSource(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// listed returns what our source is told of a service.
func listed(t *testing.T, s discovery.Source, id registry.ServiceID) []registry.Instance {
	t.Helper()
	l, err := s.Fetch(t.Context(), id)
	require.NoError(t, err)
	return l.Instances
}
