package interop

import (
	"fmt"
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

	"github.com/rollcall-go/rollcall/test/internal/poll"
	"github.com/rollcall-go/rollcall/test/testserver"
)

// goSDK is the Go client of the Nacos project in the last version that speaks
// HTTP and UDP.
var goSDK = client{name: "nacos-sdk-go", version: strings.TrimPrefix(constant.CLIENT_VERSION, "Nacos-Go-Client:v")}

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
	cache, err := os.MkdirTemp(scratch, "sdk-")
	require.NoError(t, err)
	sdk, err := clients.NewNamingClient(vo.NacosClientParam{
		ClientConfig: constant.NewClientConfig(
			constant.WithTimeoutMs(2000),
			constant.WithCacheDir(cache),
			constant.WithNotLoadCacheAtStart(true),
			constant.WithUpdateCacheWhenEmpty(true),
			constant.WithCustomLogger(quiet{}),
		),
		ServerConfigs: []constant.ServerConfig{
			*constant.NewServerConfig("127.0.0.1", uint64(server.Port()), constant.WithContextPath("/nacos")),
		},
	})
	require.NoError(t, err)
	return sdk
}

// registerGoSDK registers 127.0.0.1 with the port under DEFAULT_GROUP, with
// short timeouts, and deregisters it at the end of the test.
func registerGoSDK(t *testing.T, sdk naming_client.INamingClient, service string, port uint64, metadata map[string]string) {
	t.Helper()
	ok, err := sdk.RegisterInstance(vo.RegisterInstanceParam{
		ServiceName: service, Ip: "127.0.0.1", Port: port, ClusterName: "EAST",
		Weight: 2.5, Enable: true, Healthy: true, Ephemeral: true, Metadata: metadata,
	})
	require.NoError(t, err)
	require.True(t, ok)
	t.Cleanup(func() { _, _ = deregisterGoSDK(sdk, service, port) })
}

func deregisterGoSDK(sdk naming_client.INamingClient, service string, port uint64) (bool, error) {
	return sdk.DeregisterInstance(vo.DeregisterInstanceParam{
		ServiceName: service, Ip: "127.0.0.1", Port: port, Cluster: "EAST", Ephemeral: true,
	})
}

func TestNacosSDKGo_RegistersWithMetadataWeightAndCluster(t *testing.T) {
	t.Parallel()
	proves(t, goSDK, "register with metadata, weight and cluster; list")
	server := testserver.Start(t, binaries.server)
	sdk := newGoSDK(t, server)
	metadata := shortLived("note", "a,b=c&d {\"e\"} 100% ü")
	registerGoSDK(t, sdk, "orders", 8001, metadata)

	host, err := onlyHost(server, "orders")
	require.NoError(t, err, "visible as soon as the register call is answered")
	require.Equal(t, testserver.Host{
		InstanceID: host.InstanceID, IP: "127.0.0.1", Port: 8001, ClusterName: "EAST",
		Weight: 2.5, Healthy: true, Enabled: true, Ephemeral: true, Metadata: metadata,
	}, host)
	require.Contains(t, host.InstanceID, "127.0.0.1#8001#EAST#")

	for _, clusters := range [][]string{nil, {"EAST"}, {"WEST", "EAST"}} {
		service, err := sdk.GetService(vo.GetServiceParam{ServiceName: "orders", Clusters: clusters})
		require.NoError(t, err)
		require.Len(t, service.Hosts, 1, "clusters %v", clusters)
		require.Equal(t, metadata, service.Hosts[0].Metadata)
	}
	service, err := sdk.GetService(vo.GetServiceParam{ServiceName: "orders", Clusters: []string{"WEST"}})
	require.NoError(t, err)
	require.Empty(t, service.Hosts, "no instance in that cluster")
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

func TestNacosSDKGo_BeatsKeepItHealthyPastTheDeleteTimeout(t *testing.T) {
	t.Parallel()
	proves(t, goSDK, "beats at the instance's own interval, healthy past the delete timeout")
	server := testserver.Start(t, binaries.server)
	registerGoSDK(t, newGoSDK(t, server), "orders", 8001, shortLived())

	poll.While(t, deleteTimeout+slack, healthy(server, "orders"))
}

func TestNacosSDKGo_DeregistersAndStaysAway(t *testing.T) {
	t.Parallel()
	proves(t, goSDK, "deregister, gone with the answer and not beaten back")
	server := testserver.Start(t, binaries.server)
	sdk := newGoSDK(t, server)
	registerGoSDK(t, sdk, "orders", 8001, shortLived())
	// Between two beats: one that is under way registers anew what is gone.
	poll.While(t, beatInterval/2, healthy(server, "orders"))

	ok, err := deregisterGoSDK(sdk, "orders", 8001)
	require.NoError(t, err)
	require.True(t, ok)
	requireGone(t, server, "orders", 8001)
	poll.While(t, 2*beatInterval, gone(server, "orders", 8001))
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

func TestNacosSDKGo_SubscriberIsToldOfChangesByPush(t *testing.T) {
	t.Parallel()
	proves(t, goSDK, "subscribe; changes arrive by UDP push")
	server := testserver.Start(t, binaries.server)
	sdk := newGoSDK(t, server)
	registerGoSDK(t, sdk, "orders", 8001, nil)

	start := time.Now()
	changes := subscribeGoSDK(t, newGoSDK(t, server), "orders")
	changes.next(t, slack, 8001)
	registerGoSDK(t, sdk, "orders", 8002, nil)
	changes.next(t, slack, 8001, 8002)
	_, err := deregisterGoSDK(sdk, "orders", 8001)
	require.NoError(t, err)
	changes.next(t, slack, 8002)
	_, err = deregisterGoSDK(sdk, "orders", 8002)
	require.NoError(t, err)
	changes.next(t, slack)
	require.Less(t, time.Since(start), pollWithPush, "all of that before the subscriber asks again")
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

func TestNacosSDKGo_UpdatesWeightAndMetadata(t *testing.T) {
	t.Parallel()
	proves(t, goSDK, "update weight, enabled and metadata; beats do not undo it")
	server := testserver.Start(t, binaries.server)
	sdk := newGoSDK(t, server)
	registerGoSDK(t, sdk, "orders", 8001, shortLived("version", "1"))

	updated := shortLived("version", "2")
	ok, err := sdk.UpdateInstance(vo.UpdateInstanceParam{
		ServiceName: "orders", Ip: "127.0.0.1", Port: 8001, ClusterName: "EAST",
		Ephemeral: true, Weight: 7, Enable: true, Metadata: updated,
	})
	require.NoError(t, err)
	require.True(t, ok)
	asUpdated := func() error {
		host, err := onlyHost(server, "orders")
		if err != nil {
			return err
		}
		if host.Weight != 7 || host.Metadata["version"] != "2" || !host.Healthy {
			return fmt.Errorf("not as updated: %+v", host)
		}
		return nil
	}
	require.NoError(t, asUpdated())
	poll.While(t, 2*beatInterval+slack, asUpdated)
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

func TestNacosSDKGo_IsBackWithinOneBeatAfterTheServerLostItsMemory(t *testing.T) {
	t.Parallel()
	proves(t, goSDK, "server restarted with an empty memory; back within one beat with all it carries")
	server := testserver.Start(t, binaries.server)
	metadata := shortLived("version", "1")
	registerGoSDK(t, newGoSDK(t, server), "orders", 8001, metadata)
	// Past the second beat: the first comes with the registration.
	poll.While(t, beatInterval+beatInterval/2, healthy(server, "orders"))

	server.Restart(t)
	took := poll.Until(t, beatInterval+slack, healthy(server, "orders"))
	t.Logf("back after %v", took)
	host, err := onlyHost(server, "orders")
	require.NoError(t, err)
	require.Equal(t, "EAST", host.ClusterName)
	require.Equal(t, metadata, host.Metadata)
	require.InDelta(t, 2.5, host.Weight, 0)
}
