package registrytest

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

func registerVisible(f *fixture) {
	r := f.registration(1)
	f.listedOnly()
	f.register(r)
	f.listedOnly(r)
}

func registerFields(f *fixture) {
	r := f.registration(1)
	r.Cluster, r.Weight = "BLUE", 2.5
	f.register(r)
	f.listed("cluster BLUE, weight 2.5, healthy, ephemeral and an id", func(list []registry.Instance) bool {
		i, ok := find(list, r)
		return ok && i.Weight == 2.5 && i.Healthy && i.Enabled && i.Ephemeral && i.ID != ""
	})
}

func registerIPv6(f *fixture) {
	r := f.registration(1)
	r.IP = "2001:db8::17"
	f.register(r)
	f.listed("the IPv6 literal without brackets", func(list []registry.Instance) bool {
		i, ok := find(list, r)
		return ok && i.IP == "2001:db8::17"
	})
	require.NoError(f, f.reg.Deregister(f.ctx, r))
	f.listedOnly()
}

func registerMetadata(f *fixture) {
	r := f.registration(1)
	r.Metadata = map[string]string{
		"plain":           "value",
		"gRPC_port":       "9090",
		"grpc_port":       "another key, as case matters",
		"dotted.key-name": "dots.and-dashes",
		"list":            "a,b,,c",
		"pair":            "k=v,w=x",
		"quotes":          `"double" and 'single' and \backslash`,
		"json":            `{"a":[1,2,{"b":null}]}`,
		"url":             "http://host/p?a=1&b=2+3%20%25#f",
		"text":            "Grüße, 世界 🌍",
		"lines":           "one\ntwo\tthree",
		"ключ":            "a key that is not ASCII",
	}
	want := maps.Clone(r.Metadata)
	f.register(r)
	f.listed(fmt.Sprintf("metadata %q", want), func(list []registry.Instance) bool {
		i, ok := find(list, r)
		return ok && carries(i.Metadata, want)
	})
}

func registerReplaces(f *fixture) {
	r := f.registration(1)
	r.Metadata = map[string]string{"version": "1", "gone": "soon"}
	f.register(r)
	f.listedOnly(r)

	r.Weight, r.Metadata = 5, map[string]string{"version": "2"}
	f.register(r)
	f.listed("one instance with the new weight and metadata", func(list []registry.Instance) bool {
		i, ok := find(list, r)
		_, old := i.Metadata["gone"]
		return ok && len(list) == 1 && i.Weight == 5 && i.Metadata["version"] == "2" && !old
	})
	require.NoError(f, f.reg.Deregister(f.ctx, r))
	f.listedOnly()
}

func registerResets(f *fixture) {
	f.resets(func(r registry.Registration) error { return f.reg.Register(f.ctx, r) })
}

// resets registers an instance with weight and metadata, and has change take both
// back to what an instance has of its own: values that are also what a server
// assumes where nothing is said.
func (f *fixture) resets(change func(registry.Registration) error) {
	f.Helper()
	r := f.registration(1)
	r.Weight, r.Metadata = 5, map[string]string{"version": "1"}
	f.register(r)
	r.Weight, r.Metadata = 1, nil
	require.NoError(f, change(r))
	f.listed("weight 1 and no version", func(list []registry.Instance) bool {
		i, ok := find(list, r)
		_, old := i.Metadata["version"]
		return ok && i.Weight == 1 && !old
	})
}

func registerCopies(f *fixture) {
	r := f.registration(1)
	r.Metadata = map[string]string{"version": "1"}
	f.register(r)
	mine := r.Metadata
	mine["version"] = "changed after the call"
	f.listed("the metadata at the time of the call", func(list []registry.Instance) bool {
		i, ok := find(list, r)
		return ok && i.Metadata["version"] == "1"
	})
}

func deregisterRemoves(f *fixture) {
	r, other := f.registration(1), f.registration(2)
	f.register(r)
	f.register(other)
	f.listedOnly(r, other)
	require.NoError(f, f.reg.Deregister(f.ctx, r))
	f.listedOnly(other)
	require.NoError(f, f.reg.Deregister(f.ctx, r), "a second time")
	_, err := f.reg.Status(f.ctx, r)
	require.ErrorIs(f, err, registry.ErrNotFound)
}

func deregisterUnknown(f *fixture) {
	require.NoError(f, f.reg.Deregister(f.ctx, f.registration(1)))
	f.listedOnly()
}

func clustersAreDistinct(f *fixture) {
	blue, green := f.registration(1), f.registration(1)
	blue.Cluster, green.Cluster = "BLUE", "GREEN"
	f.register(blue)
	f.register(green)
	f.listedOnly(blue, green)
	require.NoError(f, f.reg.Deregister(f.ctx, blue))
	f.listedOnly(green)
	status, err := f.reg.Status(f.ctx, green)
	require.NoError(f, err)
	require.Equal(f, registry.StatusUp, status)
}

func groupsAreDistinct(f *fixture) {
	r, other := f.registration(1), f.registration(2)
	other.Service.Group = "REGISTRYTEST_GROUP"
	f.register(r)
	f.register(other)
	f.listedOnly(r)
	f.listedIn(other.Service, "the instance of the other group", func(list []registry.Instance) bool {
		_, ok := find(list, other)
		return ok && len(list) == 1
	})
}

func namespacesAreDistinct(f *fixture) {
	r, other := f.registration(1), f.registration(2)
	other.Service.Namespace = "registrytest"
	f.register(r)
	f.register(other)
	f.listedOnly(r)
	f.listedIn(other.Service, "the instance of the other namespace", func(list []registry.Instance) bool {
		_, ok := find(list, other)
		return ok && len(list) == 1
	})
}

func statusSwitches(f *fixture) {
	r := f.registration(1)
	f.register(r)
	f.listedOnly(r)
	requireStatus(f, r, registry.StatusUp)

	require.NoError(f, f.reg.SetStatus(f.ctx, r, registry.StatusDown))
	f.listedOnly()
	requireStatus(f, r, registry.StatusDown)

	require.NoError(f, f.reg.SetStatus(f.ctx, r, registry.StatusUp))
	f.listedOnly(r)
	requireStatus(f, r, registry.StatusUp)
}

func requireStatus(f *fixture, r registry.Registration, want registry.Status) {
	f.Helper()
	status, err := f.reg.Status(f.ctx, r)
	require.NoError(f, err)
	require.Equal(f, want, status)
}

func statusUnknownWord(f *fixture) {
	r := f.registration(1)
	f.register(r)
	require.ErrorIs(f, f.reg.SetStatus(f.ctx, r, "OUT_OF_SERVICE"), registry.ErrUnknownStatus)
	requireStatus(f, r, registry.StatusUp)
}

func statusNotFound(f *fixture) {
	r := f.registration(1)
	_, err := f.reg.Status(f.ctx, r)
	f.fails(err, registry.ErrNotFound, r)
	f.fails(f.reg.SetStatus(f.ctx, r, registry.StatusDown), registry.ErrNotFound, r)
}

func startsDisabled(f *fixture) {
	r := f.registration(1)
	r.Enabled = false
	f.register(r)
	requireStatus(f, r, registry.StatusDown)
	f.listedOnly()
	require.NoError(f, f.reg.SetStatus(f.ctx, r, registry.StatusUp))
	f.listedOnly(r)
}

// updater returns the registry as one that updates, and skips the test of others.
func updater(f *fixture) registry.Updater {
	u, ok := f.reg.(registry.Updater)
	if !ok {
		f.Skip("this registry does not update in place")
	}
	return u
}

func updateInPlace(f *fixture) {
	u := updater(f)
	r, other := f.registration(1), f.registration(2)
	r.Metadata = map[string]string{"version": "1", "gone": "soon"}
	f.register(r)
	f.register(other)

	r.Weight, r.Metadata = 7, map[string]string{"version": "2"}
	require.NoError(f, u.Update(f.ctx, r))
	f.listed("two instances, one with the new weight and metadata", func(list []registry.Instance) bool {
		i, ok := find(list, r)
		_, old := i.Metadata["gone"]
		return ok && len(list) == 2 && i.Weight == 7 && i.Metadata["version"] == "2" && !old && i.Healthy
	})
	r.Enabled = false
	require.NoError(f, u.Update(f.ctx, r))
	f.listedOnly(other)
	requireStatus(f, r, registry.StatusDown)
	r.Enabled = true
	require.NoError(f, u.Update(f.ctx, r))
	f.listedOnly(r, other)
	require.NoError(f, f.reg.Deregister(f.ctx, r))
	f.listedOnly(other)
}

func updateResets(f *fixture) {
	u := updater(f)
	f.resets(func(r registry.Registration) error { return u.Update(f.ctx, r) })
}

func updateNotFound(f *fixture) {
	u := updater(f)
	r := f.registration(1)
	f.fails(u.Update(f.ctx, r), registry.ErrNotFound, r)
	f.listedOnly()
}

func doneContext(f *fixture) {
	r, registered := f.registration(1), f.registration(2)
	f.register(registered)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	f.fails(f.reg.Register(ctx, r), context.Canceled, r)
	f.listedOnly(registered)
	again := registered
	again.Weight = 7
	require.ErrorIs(f, f.reg.Register(ctx, again), context.Canceled)
	requireStatus(f, registered, registry.StatusUp) // the earlier one stays
	require.ErrorIs(f, f.reg.SetStatus(ctx, registered, registry.StatusDown), context.Canceled)
	require.ErrorIs(f, f.reg.Deregister(ctx, registered), context.Canceled)
}

func closeKeeps(f *fixture) {
	r := f.registration(1)
	f.register(r)
	f.listedOnly(r)
	require.NoError(f, f.reg.Close())
	f.listedOnly(r)
}

func closeFinal(f *fixture) {
	r := f.registration(1)
	f.register(r)
	start := time.Now()
	require.NoError(f, f.reg.Close())
	require.NoError(f, f.reg.Close())
	require.Less(f, time.Since(start), testTimeout, "Close is bounded")

	f.fails(f.reg.Register(f.ctx, r), registry.ErrClosed, r)
	f.fails(f.reg.Deregister(f.ctx, r), registry.ErrClosed, r)
	f.fails(f.reg.SetStatus(f.ctx, r, registry.StatusDown), registry.ErrClosed, r)
	_, err := f.reg.Status(f.ctx, r)
	f.fails(err, registry.ErrClosed, r)
}
