package grpclb_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/loadbalance/grpclb"
	"github.com/rollcall-go/rollcall/registry"
)

func TestDR9_GRPCPortIsTheMetadatasElseTheInstances(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*registry.Instance, int)
	}{
		{"metadata", func(i *registry.Instance, port int) {}},
		{"none", func(i *registry.Instance, port int) { i.Port, i.Metadata = port, nil }},
		{"no number", func(i *registry.Instance, port int) {
			i.Port, i.Metadata = port, map[string]string{grpclb.MetadataPort: "x"}
		}},
		{"zero", func(i *registry.Instance, port int) {
			i.Port, i.Metadata = port, map[string]string{grpclb.MetadataPort: "0"}
		}},
		{"too large", func(i *registry.Instance, port int) {
			i.Port, i.Metadata = port, map[string]string{grpclb.MetadataPort: "65536"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, "one")
			i := at(s)
			c.edit(&i, s.port)
			name, err := ask(t.Context(), newFleet(t, loadbalance.Options{}, i).conn(t), "")
			require.NoError(t, err)
			require.Equal(t, "one", name)
		})
	}
}

func TestDR9_GRPCTargets(t *testing.T) {
	s := serve(t, "one")
	f := newFleet(t, loadbalance.Options{}, at(s))
	other := registry.ServiceID{Group: "OTHER", Name: users.Name}
	elsewhere := at(serve(t, "two"))
	elsewhere.Service = other
	f.Set(other, elsewhere)
	opts := append(grpclb.DialOptions(f.balancer), grpc.WithTransportCredentials(insecure.NewCredentials()))
	for _, c := range []struct{ target, want string }{
		{"lb:///user-service", "one"},
		{"lb:///DEFAULT_GROUP@@user-service", "one"},
		{"lb:///OTHER@@user-service", "two"},
	} {
		conn, err := grpc.NewClient(c.target, opts...)
		require.NoError(t, err)
		name, err := ask(t.Context(), conn, "")
		require.NoError(t, err)
		require.Equal(t, c.want, name, c.target)
		require.NoError(t, conn.Close())
	}
	for _, target := range []string{"lb://user-service", "lb://OTHER@@user-service/", "lb:///", "lb:///a/b"} {
		conn, err := grpc.NewClient(target, opts...)
		if err == nil {
			_, err = ask(t.Context(), conn, "")
			require.NoError(t, conn.Close())
		}
		require.ErrorContains(t, err, "does not name a service: write lb:///name or lb:///GROUP@@name", target)
	}
}

func TestDR2_SharesOfGRPCCalls(t *testing.T) {
	one, two := serve(t, "one"), serve(t, "two")
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(1, 2))
	seeded := func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return source.Float64()
	}
	for _, c := range []struct {
		policy string
		want   float64
	}{
		{loadbalance.PolicyWeightedRandom, 0.75},
		{loadbalance.PolicyWeightedRoundRobin, 0.75},
		{loadbalance.PolicyRoundRobin, 0.5},
	} {
		policy, err := loadbalance.PolicyByName(c.policy, seeded)
		require.NoError(t, err)
		conn := newFleet(t, loadbalance.Options{Policy: policy}, at(one, weight(3)), at(two)).conn(t)
		connected(t, conn, one, two)
		const calls = 2000
		require.InDelta(t, c.want, float64(shares(t, conn, calls)["one"])/calls, 0.05, c.policy)
	}
}

func TestDR1_GRPCGoesToUsableInstancesOfTheOwnCluster(t *testing.T) {
	near, far := serve(t, "near"), serve(t, "far")
	refused := serve(t, "refused")
	f := newFleet(t, loadbalance.Options{Cluster: "a", PreferSameCluster: true},
		at(near, cluster("a")), at(far, cluster("b")),
		at(refused, cluster("a"), func(i *registry.Instance) { i.Enabled = false }))
	conn := f.conn(t)
	require.Equal(t, map[string]int{"near": 50}, shares(t, conn, 50))
	require.Zero(t, far.accepted.Load(), "who is not called needs no connection")

	f.Set(users, at(far, cluster("b")))
	require.Eventually(t, func() bool { return shares(t, conn, 1)["far"] == 1 }, patience, time.Millisecond)
	f.Set(users, at(far, cluster("b")), at(near, cluster("a")))
	require.Eventually(t, func() bool { return shares(t, conn, 1)["near"] == 1 }, patience, time.Millisecond)
	require.Zero(t, refused.calls.Load())
	require.Zero(t, refused.accepted.Load())
}

func TestDR1_GRPCMetadataIsTheHeaderOfStages(t *testing.T) {
	one, two := serve(t, "one"), serve(t, "two")
	tagged := func(hint string) func(*registry.Instance) {
		return func(i *registry.Instance) { i.Metadata["hint"] = hint }
	}
	p := loadbalance.DefaultProperties()
	p.Chain = []string{loadbalance.StageUsable, loadbalance.StageHint}
	p.Hint = map[string]string{"default": "blue"} // so that green is connected on demand
	f := newFleet(t, loadbalance.Options{Properties: &p}, at(one, tagged("blue")), at(two, tagged("green")))
	conn := f.conn(t)
	for _, c := range []struct{ hint, want string }{{"blue", "one"}, {"green", "two"}} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-sc-lb-hint", c.hint)
		for range 20 { // the first waits until what it asks for is connected
			name, err := ask(ctx, conn, "")
			require.NoError(t, err)
			require.Equal(t, c.want, name)
		}
	}
	one.Stop()
	require.Eventually(t, func() bool {
		name, err := ask(metadata.AppendToOutgoingContext(t.Context(), "x-sc-lb-hint", "blue"), conn, "")
		return err == nil && name == "two" // a hint is a wish
	}, patience, time.Millisecond)
}

func TestDR1_GRPCConnectsOnDemandWhereAChainIsStrict(t *testing.T) {
	one, two := serve(t, "one"), serve(t, "two")
	version := func(v string) func(*registry.Instance) {
		return func(i *registry.Instance) { i.Metadata[loadbalance.MetadataAPIVersion] = v }
	}
	p := loadbalance.DefaultProperties()
	p.Configurations = loadbalance.StageAPIVersion
	p.APIVersion.Header, p.APIVersion.Required = "Version", true
	conn := newFleet(t, loadbalance.Options{Properties: &p}, at(one, version("1")), at(two, version("2"))).conn(t)

	name, err := ask(metadata.AppendToOutgoingContext(t.Context(), "version", "1"), conn, "")
	require.NoError(t, err)
	require.Equal(t, "one", name)
	require.Zero(t, two.accepted.Load())
	name, err = ask(metadata.AppendToOutgoingContext(t.Context(), "version", "2"), conn, "")
	require.NoError(t, err)
	require.Equal(t, "two", name)

	_, err = ask(t.Context(), conn, "")
	require.ErrorContains(t, err, loadbalance.ErrAPIVersion.Error())
	_, err = ask(metadata.AppendToOutgoingContext(t.Context(), "version", "3"), conn, "")
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, `2 known, 2 left out by filters`)
}

func TestDR9_GRPCServiceWithoutInstances(t *testing.T) {
	s := serve(t, "one")
	f := newFleet(t, loadbalance.Options{})
	f.Set(registry.ServiceID{Name: "user-servize"}, registry.NewInstance(registry.ServiceID{Name: "user-servize"}, "192.0.2.1", 80))
	conn := f.conn(t)
	_, err := ask(t.Context(), conn, "")
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, `no instance available of service "user-service" (namespace public, group DEFAULT_GROUP): `+
		`none registered; of the 1 services there, the most similar are user-servize`)
	becomes := func(want connectivity.State) { // after the calls have been told
		t.Helper()
		require.Eventually(t, func() bool { return conn.GetState() == want }, patience, time.Millisecond)
	}
	becomes(connectivity.TransientFailure)

	waited := make(chan error, 1)
	go func() {
		_, err := ask(context.WithoutCancel(t.Context()), conn, "", grpc.WaitForReady(true))
		waited <- err
	}()
	f.Set(users, at(s))
	require.NoError(t, <-waited, "whoever waits is served when an instance has come")
	becomes(connectivity.Ready)

	f.Set(users)
	becomes(connectivity.TransientFailure)
	_, err = ask(t.Context(), conn, "")
	require.Equal(t, codes.Unavailable, status.Code(err))
}

func TestDR15_GRPCWithUnhealthyInstancesOnly(t *testing.T) {
	s := serve(t, "one")
	sick := at(s, func(i *registry.Instance) { i.Healthy = false })
	f := newFleet(t, loadbalance.Options{}, sick)
	conn := f.conn(t)
	_, err := ask(t.Context(), conn, "")
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "1 known, 1 unhealthy")
	require.Zero(t, s.accepted.Load())
	f.Set(users, at(s))
	require.Eventually(t, func() bool {
		_, err := ask(t.Context(), conn, "")
		return err == nil
	}, patience, time.Millisecond)
}

func TestDR9_GRPCSaysWhyThereIsNoListAndRecovers(t *testing.T) {
	f := newFleet(t, loadbalance.Options{}, at(serve(t, "one")))
	f.fail(errDown)
	conn := f.conn(t)
	_, err := ask(t.Context(), conn, "")
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, `no instance available of service "user-service"`)
	require.ErrorContains(t, err, errDown.Error())
	f.fail(nil)
	f.Set(users, at(serve(t, "two")))
	require.Eventually(t, func() bool {
		name, err := ask(t.Context(), conn, "")
		return err == nil && name == "two"
	}, patience, time.Millisecond)
}

func TestDR6_GRPCGoesOnWithAStaleList(t *testing.T) {
	f := newFleet(t, loadbalance.Options{}, at(serve(t, "one")))
	conn := f.conn(t)
	connected(t, conn)
	f.fail(errDown)
	require.Eventually(t, func() bool {
		s, err := f.balancer.Discovery().Snapshot(t.Context(), users)
		return err == nil && s.Stale()
	}, patience, time.Millisecond)
	require.Equal(t, map[string]int{"one": 20}, shares(t, conn, 20))
}

func TestDR11_GRPCPassesOverInstancesThatCannotBeConnected(t *testing.T) {
	dead := registry.NewInstance(users, "127.0.0.1", testutil.Refusing(t).Port)
	s := serve(t, "one")
	for name, edit := range map[string]func(*loadbalance.Properties){
		"default":                 func(*loadbalance.Properties) {},
		"without retry-aware":     func(p *loadbalance.Properties) { p.Retry.AvoidPreviousInstance = false },
		"weighted":                func(p *loadbalance.Properties) { p.Configurations = loadbalance.StageWeighted },
		"same instance preferred": func(p *loadbalance.Properties) { p.Configurations = loadbalance.StageSameInstance },
		"consistent hash": func(p *loadbalance.Properties) {
			p.Algorithm, p.HashKey = loadbalance.PolicyConsistentHash, "header:X-User"
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := loadbalance.DefaultProperties()
			edit(&p)
			f := newFleet(t, loadbalance.Options{Properties: &p}, dead, at(s))
			conn := f.conn(t)
			require.Equal(t, map[string]int{"one": 50}, shares(t, conn, 50))

			f.Set(users, dead)
			var err error
			require.Eventually(t, func() bool {
				_, err = ask(t.Context(), conn, "")
				return err != nil
			}, patience, time.Millisecond)
			require.Equal(t, codes.Unavailable, status.Code(err))
			require.ErrorContains(t, err, "can be connected, the last one tried is "+dead.Address())
			require.ErrorContains(t, err, "refused")
		})
	}
}

func TestDR5_GRPCHealthIsWatchedWhereTheServiceConfigSaysSo(t *testing.T) {
	one, two := serve(t, "one"), serve(t, "two")
	conn := newFleet(t, loadbalance.Options{}, at(one), at(two)).conn(t, grpc.WithDefaultServiceConfig(
		`{"loadBalancingConfig": [{"rollcall": {}}], "healthCheckConfig": {"serviceName": ""}}`))
	connected(t, conn, one, two)
	one.health.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
	require.Eventually(t, func() bool { return shares(t, conn, 30)["one"] == 0 }, patience, time.Millisecond)
	require.Equal(t, map[string]int{"two": 50}, shares(t, conn, 50))
	one.health.SetServingStatus("", healthpb.HealthCheckResponse_SERVING)
	connected(t, conn, one, two)
}

func TestServiceConfigThatNamesAnotherPolicyIsRefused(t *testing.T) {
	f := newFleet(t, loadbalance.Options{}, at(serve(t, "one")))
	for config, want := range map[string]string{
		`{"methodConfig": []}`:                           `the service config does not name the policy "rollcall", by which calls to lb: targets are balanced`,
		`{"loadBalancingConfig": [{"round_robin": {}}]}`: "", // which has words of its own for having no addresses
	} {
		conn := f.conn(t, grpc.WithDefaultServiceConfig(config))
		require.Eventually(t, func() bool {
			_, err := ask(t.Context(), conn, "")
			return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), want)
		}, patience, time.Millisecond)
	}
	conn, err := grpc.NewClient("passthrough:///127.0.0.1:1", grpc.WithDefaultServiceConfig(grpclb.ServiceConfig),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	_, err = ask(t.Context(), conn, "")
	require.ErrorContains(t, err, `the policy "rollcall" balances calls to lb: targets alone`)
}
