package interop

import (
	"errors"
	"testing"

	"github.com/nacos-group/nacos-sdk-go/clients/naming_client"
	"github.com/nacos-group/nacos-sdk-go/common/constant"
	"github.com/nacos-group/nacos-sdk-go/model"
	"github.com/nacos-group/nacos-sdk-go/vo"

	"github.com/rollcall-go/rollcall/test/testserver"
)

// errNotDone is the Go SDK's false without an error.
var errNotDone = errors.New("the Go SDK says that it is not done")

// goClient is the Go SDK as [naming]. It runs within the test's process.
type goClient struct {
	t       *testing.T
	server  *testserver.Server
	account account
	lists   chan []testserver.Host
	sdk     naming_client.INamingClient // nil until first asked
}

func startGoSDK(t *testing.T, server *testserver.Server, a account) naming {
	t.Helper()
	return &goClient{t: t, server: server, account: a, lists: make(chan []testserver.Host, 100)}
}

// connected returns the client, which logs in when it is made.
func (c *goClient) connected() (naming_client.INamingClient, error) {
	if c.sdk != nil {
		return c.sdk, nil
	}
	sdk, err := connectGoSDK(c.server, c.account)
	if err == nil {
		c.sdk = sdk
	}
	return sdk, err
}

func (c *goClient) version() (string, error) { return constant.CLIENT_VERSION, nil }

func (c *goClient) register(service string, i instance) error {
	sdk, err := c.connected()
	if err != nil {
		return err
	}
	// It can't be closed; without this it would go on to beat.
	c.t.Cleanup(func() { _ = c.deregister(service, i) })
	return done(sdk.RegisterInstance(vo.RegisterInstanceParam{
		ServiceName: service, Ip: i.IP, Port: uint64(i.Port), ClusterName: i.Cluster, Weight: i.Weight,
		Enable: true, Healthy: true, Ephemeral: i.Ephemeral, Metadata: i.Metadata,
	}))
}

func (c *goClient) update(service string, i instance) error {
	sdk, err := c.connected()
	if err != nil {
		return err
	}
	return done(sdk.UpdateInstance(vo.UpdateInstanceParam{
		ServiceName: service, Ip: i.IP, Port: uint64(i.Port), ClusterName: i.Cluster, Weight: i.Weight,
		Enable: true, Ephemeral: i.Ephemeral, Metadata: i.Metadata,
	}))
}

func (c *goClient) deregister(service string, i instance) error {
	sdk, err := c.connected()
	if err != nil {
		return err
	}
	return done(sdk.DeregisterInstance(vo.DeregisterInstanceParam{
		ServiceName: service, Ip: i.IP, Port: uint64(i.Port), Cluster: i.Cluster, Ephemeral: i.Ephemeral,
	}))
}

func (c *goClient) list(service string) ([]testserver.Host, error) {
	sdk, err := c.connected()
	if err != nil {
		return nil, err
	}
	found, err := sdk.SelectAllInstances(vo.SelectAllInstancesParam{ServiceName: service})
	return hostsOf(found), err
}

func (c *goClient) choose(service string) ([]testserver.Host, error) {
	sdk, err := c.connected()
	if err != nil {
		return nil, err
	}
	found, err := sdk.SelectInstances(vo.SelectInstancesParam{ServiceName: service, HealthyOnly: true})
	return hostsOf(found), err
}

func (c *goClient) subscribe(service string) error {
	sdk, err := c.connected()
	if err != nil {
		return err
	}
	return sdk.Subscribe(&vo.SubscribeParam{
		ServiceName: service,
		SubscribeCallback: func(list []model.SubscribeService, err error) {
			hosts := make([]testserver.Host, 0, len(list))
			for _, s := range list { // none comes with an error
				hosts = append(hosts, testserver.Host{
					InstanceID: s.InstanceId, IP: s.Ip, Port: int(s.Port), ClusterName: s.ClusterName, Weight: s.Weight,
					Healthy: s.Healthy, Enabled: s.Enable, Metadata: s.Metadata,
				})
			}
			c.lists <- hosts
		},
	})
}

func (c *goClient) changes() <-chan []testserver.Host { return c.lists }

func done(ok bool, err error) error {
	if err == nil && !ok {
		return errNotDone
	}
	return err
}

func hostsOf(instances []model.Instance) []testserver.Host {
	hosts := make([]testserver.Host, 0, len(instances))
	for _, i := range instances {
		hosts = append(hosts, testserver.Host{
			InstanceID: i.InstanceId, IP: i.Ip, Port: int(i.Port), ClusterName: i.ClusterName, Weight: i.Weight,
			Healthy: i.Healthy, Enabled: i.Enable, Ephemeral: i.Ephemeral, Metadata: i.Metadata,
		})
	}
	return hosts
}
