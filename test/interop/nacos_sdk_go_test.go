package interop

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacos-group/nacos-sdk-go/clients"
	"github.com/nacos-group/nacos-sdk-go/clients/naming_client"
	"github.com/nacos-group/nacos-sdk-go/common/constant"
	"github.com/nacos-group/nacos-sdk-go/model"
	"github.com/nacos-group/nacos-sdk-go/vo"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/test/testserver"
)

// goSDK is the Go client of the Nacos project in the last version that speaks
// HTTP and UDP.
var goSDK = client{
	name: "nacos-sdk-go", version: strings.TrimPrefix(constant.CLIENT_VERSION, "Nacos-Go-Client:v"),
	note: "It sends updates and beats unescaped: a plus sign in metadata arrives as a space. " +
		"It takes empty lists only where it is told to, as here.",
}

// How often a subscriber asks: about every ten seconds when the server has
// accepted it for pushes, every three when not.
const (
	pollWithPush    = 10 * time.Second
	pollWithoutPush = 3 * time.Second
)

// quiet keeps the SDK's log out of files and out of the tests' output.
type quiet struct{}

func (quiet) Info(...any)           {}
func (quiet) Warn(...any)           {}
func (quiet) Error(...any)          {}
func (quiet) Debug(...any)          {}
func (quiet) Infof(string, ...any)  {}
func (quiet) Warnf(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Debugf(string, ...any) {}

// newGoSDK returns a client of its own for one test. It can't be closed; the
// test deregisters what it registered, which ends the beats.
func newGoSDK(t *testing.T, server *testserver.Server) naming_client.INamingClient {
	t.Helper()
	sdk, err := connectGoSDK(server, account{})
	require.NoError(t, err)
	return sdk
}

// connectGoSDK returns a client that logs in, if it is given an account.
func connectGoSDK(server *testserver.Server, a account) (naming_client.INamingClient, error) {
	cache, err := os.MkdirTemp(scratch, "sdk-")
	if err != nil {
		return nil, err
	}
	return clients.NewNamingClient(vo.NacosClientParam{
		ClientConfig: constant.NewClientConfig(
			constant.WithTimeoutMs(10_000),
			constant.WithCacheDir(cache),
			constant.WithNotLoadCacheAtStart(true),
			constant.WithUpdateCacheWhenEmpty(true),
			constant.WithCustomLogger(quiet{}),
			constant.WithUsername(a.name),
			constant.WithPassword(a.password),
		),
		ServerConfigs: []constant.ServerConfig{
			*constant.NewServerConfig("127.0.0.1", uint64(server.Port()), constant.WithContextPath("/nacos")),
		},
	})
}

// registerGoSDK registers 127.0.0.1 with the port under DEFAULT_GROUP, with
// short timeouts, and deregisters it at the end of the test.
func registerGoSDK(t *testing.T, sdk naming_client.INamingClient, service string, port uint64, metadata map[string]string) {
	t.Helper()
	ok, err := sdk.RegisterInstance(vo.RegisterInstanceParam{
		ServiceName: service, Ip: "127.0.0.1", Port: port, ClusterName: cluster,
		Weight: 2.5, Enable: true, Healthy: true, Ephemeral: true, Metadata: metadata,
	})
	require.NoError(t, err)
	require.True(t, ok)
	t.Cleanup(func() { _, _ = deregisterGoSDK(sdk, service, port) })
}

func deregisterGoSDK(sdk naming_client.INamingClient, service string, port uint64) (bool, error) {
	return sdk.DeregisterInstance(vo.DeregisterInstanceParam{
		ServiceName: service, Ip: "127.0.0.1", Port: port, Cluster: cluster, Ephemeral: true,
	})
}

func TestNacosSDKGo_PicksAHealthyInstance(t *testing.T) {
	t.Parallel()
	proves(t, goSDK, "select healthy instances and one of them by weight")
	server := testserver.Start(t, binaries.server)
	sdk := newGoSDK(t, server)
	registerGoSDK(t, sdk, "orders", 8001, shortLived())
	registerGoSDK(t, sdk, "orders", 8002, shortLived())

	instances, err := sdk.SelectInstances(vo.SelectInstancesParam{ServiceName: "orders", HealthyOnly: true})
	require.NoError(t, err)
	require.Len(t, instances, 2)
	instance, err := sdk.SelectOneHealthyInstance(vo.SelectOneHealthInstanceParam{ServiceName: "orders"})
	require.NoError(t, err)
	require.Contains(t, []uint64{8001, 8002}, instance.Port)
}

// subscription records the lists a subscriber is called with.
type subscription struct{ lists chan []model.SubscribeService }

func subscribeGoSDK(t *testing.T, sdk naming_client.INamingClient, service string) subscription {
	t.Helper()
	s := subscription{lists: make(chan []model.SubscribeService, 100)}
	err := sdk.Subscribe(&vo.SubscribeParam{
		ServiceName: service,
		SubscribeCallback: func(list []model.SubscribeService, err error) {
			if err != nil { // the SDK's way to say that the list is empty
				list = nil
			}
			s.lists <- list
		},
	})
	require.NoError(t, err)
	return s
}

// next waits for a list with exactly these ports.
func (s subscription) next(t *testing.T, within time.Duration, ports ...uint64) {
	t.Helper()
	deadline := time.After(within)
	for {
		select {
		case list := <-s.lists:
			var got []uint64
			for _, instance := range list {
				got = append(got, instance.Port)
			}
			slices.Sort(got)
			if slices.Equal(got, ports) {
				return
			}
		case <-deadline:
			t.Fatalf("no list with the ports %v within %v", ports, within)
		}
	}
}

func TestNacosSDKGo_SubscriberIsToldOfChangesByPollWhenPushIsOff(t *testing.T) {
	t.Parallel()
	proves(t, goSDK, "subscribe; changes arrive by poll when pushes are switched off")
	server := testserver.Start(t, binaries.server)
	server.Switch(t, "pushEnabled", "false")
	sdk := newGoSDK(t, server)
	registerGoSDK(t, sdk, "orders", 8001, shortLived())

	changes := subscribeGoSDK(t, newGoSDK(t, server), "orders")
	changes.next(t, slack, 8001)
	registerGoSDK(t, sdk, "orders", 8002, shortLived())
	changes.next(t, pollWithoutPush+slack, 8001, 8002)
}

func TestNacosSDKGo_SubscriberIsToldThatAnInstanceDied(t *testing.T) {
	t.Parallel()
	proves(t, goSDK, "subscribe; an instance without beats is pushed as unhealthy, then as gone")
	server := testserver.Start(t, binaries.server)
	registerGoSDK(t, newGoSDK(t, server), "orders", 8001, shortLived())
	registerWithoutBeats(t, server, "orders", 8002)

	changes := subscribeGoSDK(t, newGoSDK(t, server), "orders")
	deadline := time.After(deleteTimeout + slack)
	var unhealthySeen bool
	for {
		select {
		case list := <-changes.lists:
			i := slices.IndexFunc(list, func(s model.SubscribeService) bool { return s.Port == 8002 })
			if i < 0 {
				require.True(t, unhealthySeen, "unhealthy before it is gone")
				return
			}
			unhealthySeen = unhealthySeen || !list[i].Healthy
		case <-deadline:
			t.Fatalf("the dead instance is still listed; seen as unhealthy: %v", unhealthySeen)
		}
	}
}

func TestNacosSDKGo_ListsTheServicesOfAGroup(t *testing.T) {
	t.Parallel()
	proves(t, goSDK, "service list")
	server := testserver.Start(t, binaries.server)
	sdk := newGoSDK(t, server)
	for i, service := range []string{"orders", "payments", "users"} {
		registerGoSDK(t, sdk, service, uint64(8001+i), shortLived())
	}

	page, err := sdk.GetAllServicesInfo(vo.GetAllServiceInfoParam{PageNo: 1, PageSize: 2})
	require.NoError(t, err)
	require.Equal(t, model.ServiceList{Count: 3, Doms: []string{"orders", "payments"}}, page)
	page, err = sdk.GetAllServicesInfo(vo.GetAllServiceInfoParam{PageNo: 2, PageSize: 2})
	require.NoError(t, err)
	require.Equal(t, model.ServiceList{Count: 3, Doms: []string{"users"}}, page)
}
