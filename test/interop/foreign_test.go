package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nacos-group/nacos-sdk-go/common/constant"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/testserver"
)

// cluster is where foreign clients register.
const cluster = "EAST"

// instance is what a foreign client is told to register.
type instance struct {
	IP       string            `json:"ip"`
	Port     int               `json:"port"`
	Cluster  string            `json:"clusterName"`
	Weight   float64           `json:"weight"`
	Metadata map[string]string `json:"metadata"`
	// Ephemeral instances live by their beats, the others are probed.
	Ephemeral bool `json:"ephemeral"`
}

// naming is a foreign client in the hands of a test.
type naming interface {
	// version is what the client says it is.
	version() (string, error)
	register(service string, i instance) error
	update(service string, i instance) error
	deregister(service string, i instance) error
	// list asks the server for all instances.
	list(service string) ([]testserver.Host, error)
	// choose asks it for the healthy ones.
	choose(service string) ([]testserver.Host, error)
	// subscribe has every later list of the service sent to changes.
	subscribe(service string) error
	changes() <-chan []testserver.Host
}

// account is whom a client logs in as; the zero account does not.
type account struct{ name, password string }

// args are the account's command line arguments.
func (a account) args() []string {
	if a == (account{}) {
		return nil
	}
	return []string{a.name, a.password}
}

// foreign is a client that nobody here wrote, and what it can do by itself.
type foreign struct {
	client
	// says is what it calls itself.
	says string
	// need returns nil where the client can be run, else what is missing.
	need func() error
	// start runs one against the server.
	start func(t *testing.T, server *testserver.Server, a account) naming
	// firstBeat is when it beats for the first time, if not at once.
	firstBeat time.Duration
	// retry is how long it waits after a call that failed.
	retry time.Duration
	// updates is whether it can change what is registered.
	updates bool
	// empty is whether it tells subscribers of an empty list.
	empty bool
	// unescaped is whether its updates and beats go out as they are, so that a plus
	// sign arrives as a space.
	unescaped bool
	// pushed is whether it listens for pushes; else it asks each second.
	pushed bool
}

// pythonSDK is the Python client of the Nacos project, in the version that
// test/python/requirements.txt names.
var pythonSDK = client{
	name: "nacos-sdk-python", version: "0.1.17",
	note: "Its subscriptions ask again and again, and end when the server does not answer once; it takes no pushes.",
}

// foreigners are the clients that are tried.
func foreigners() []foreign {
	return []foreign{
		javaClient("1.4.1"),
		javaClient("1.4.8"),
		nodeClient(),
		{
			client: pythonSDK, says: pythonSDK.version, need: needPython, start: startPython,
			retry: beatInterval, updates: true, empty: true,
		},
		{
			client: goSDK, says: constant.CLIENT_VERSION, need: func() error { return nil }, start: startGoSDK,
			retry: beatInterval, updates: true, empty: true, unescaped: true, pushed: true,
		},
	}
}

// forEach runs a test with every foreign client, all at the same time as far as
// the machine bears it.
func forEach(t *testing.T, test func(t *testing.T, who foreign)) {
	t.Helper()
	t.Parallel()
	for _, who := range foreigners() {
		t.Run(who.name+" "+who.version, func(t *testing.T) {
			t.Parallel()
			test(t, who)
		})
	}
}

// proves notes what is tried with the client, and skips the test where the
// client cannot be run. On a build machine, which says CI=true, that is a
// failure.
func (f *foreign) proves(t *testing.T, claims ...string) {
	t.Helper()
	for _, claim := range claims {
		proves(t, f.client, claim)
	}
	needs(t, f.need())
}

// needs skips the test, or fails it on a build machine, if something is missing.
func needs(t *testing.T, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(missing)
	default:
		t.Skipf("%v; `make interop` installs what a package manager of the language can", missing)
	}
}

// timeouts returns when an instance of the client is unhealthy and when it is
// removed: soon, but not before its first beat.
func (f *foreign) timeouts() (unhealthy, removed time.Duration) {
	if f.firstBeat == 0 {
		return beatTimeout, deleteTimeout
	}
	return f.firstBeat + beatTimeout - beatInterval, f.firstBeat + deleteTimeout - beatInterval
}

// instance returns what the client registers: everything it can say, in values
// that are easy to get wrong.
func (f *foreign) instance(port int) instance {
	unhealthy, removed := f.timeouts()
	note := "a,b=c&d {\"e\"} 100% ü"
	if !f.unescaped {
		note += "+"
	}
	return instance{
		IP: "127.0.0.1", Port: port, Cluster: cluster, Weight: 2.5, Ephemeral: true,
		Metadata: map[string]string{
			"version": "1", "note": note,
			"preserved.heart.beat.interval": milliseconds(beatInterval),
			"preserved.heart.beat.timeout":  milliseconds(unhealthy),
			"preserved.ip.delete.timeout":   milliseconds(removed),
		},
	}
}

// toldWithin is how long a change may take to a subscriber.
const toldWithin = pollWithPush + slack

// back is how long an instance may take to be back after its server forgot it:
// until the next beat, of which one may have failed.
func (f *foreign) back() time.Duration { return max(f.firstBeat, f.retry+beatInterval) + slack }

// next waits for a list with exactly these ports.
func next(t *testing.T, from naming, within time.Duration, ports ...int) {
	t.Helper()
	deadline := time.After(within)
	var last []int
	for {
		select {
		case hosts := <-from.changes():
			if last = portsOf(hosts); slices.Equal(last, ports) {
				return
			}
		case <-deadline:
			t.Fatalf("no list with the ports %v within %v, the last had %v", ports, within, last)
		}
	}
}

// javaClient is the Java client of the Nacos project; Spring Cloud Alibaba and
// Dubbo carry it.
func javaClient(version string) foreign {
	jar := "client-" + version + ".jar"
	return foreign{
		client: client{name: "nacos-client (Java)", version: version}, says: "Nacos-Java-Client:v" + version,
		need: func() error { return needJar(jar) },
		start: func(t *testing.T, server *testserver.Server, a account) naming {
			t.Helper()
			args := append([]string{"-Xmx64m", "-jar", jar, server.Addr()}, a.args()...)
			return startDriver(t, jar, java(t, args...))
		},
		retry: beatInterval, updates: true, empty: true, pushed: true,
	}
}

// java returns a command that runs a JVM in the folder of the built jars.
func java(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("java", append([]string{
		"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData",
		"-Duser.home=" + t.TempDir(), "-Djava.net.preferIPv4Stack=true",
		// Where the client asks for pushes: it would name the machine's address, and
		// no traffic of the tests leaves the loopback interface.
		"-Dcom.alibaba.nacos.client.naming.local.ip=127.0.0.1",
	}, args...)...)
	cmd.Dir = filepath.Join("..", "java", "target")
	return cmd
}

func needJar(jar string) error {
	if _, err := exec.LookPath("java"); err != nil {
		return fmt.Errorf("there is no Java: %w", err)
	}
	if _, err := os.Stat(filepath.Join("..", "java", "target", jar)); err != nil {
		return fmt.Errorf("the Java client is not built: %w", err)
	}
	return nil
}

func needPython() error {
	if _, err := os.Stat(filepath.Join("..", "python", ".venv", "bin", "python")); err != nil {
		return fmt.Errorf("the Python client is not installed: %w", err)
	}
	return nil
}

func startPython(t *testing.T, server *testserver.Server, a account) naming {
	t.Helper()
	cmd := exec.Command(filepath.Join(".venv", "bin", "python"), append([]string{"client.py", server.Addr()}, a.args()...)...)
	cmd.Dir = filepath.Join("..", "python")
	return startDriver(t, "python", cmd)
}

func TestForeign_IsTheVersionReported(t *testing.T) {
	forEach(t, func(t *testing.T, who foreign) {
		needs(t, who.need())
		version, err := who.start(t, testserver.Start(t, binaries.server), account{}).version()
		require.NoError(t, err)
		require.Equal(t, who.says, version)
	})
}
