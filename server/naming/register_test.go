package naming

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func requireBadRequest(t *testing.T, err error, text string) {
	t.Helper()
	var bad wire.BadRequest
	require.ErrorAs(t, err, &bad)
	require.Contains(t, string(bad), text)
}

func TestSB02_OneAddressInAllItsSpellings(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("six")
	require.NoError(t, s.Register(k, registration("2001:db8::5", 7001)))
	r := registration("[2001:db8::5]", 7001)
	r.Weight = 2
	require.NoError(t, s.Update(k, r, allGiven, true))
	require.NoError(t, s.Register(k, registration("2001:0db8:0:0:0:0:0:5", 7001)))
	require.Equal(t, 1, lookup(t, s, k).Len())
	require.Equal(t, 2.0, instance(t, s, k, at("2001:db8::5", 7001)).Weight)

	beat, err := s.Beat(k, at("2001:DB8::5", 7001), nil)
	require.NoError(t, err)
	require.True(t, beat.Known)
	require.NoError(t, s.Patch(k, at("2001:db8:0::5", 7001), Patch{}))

	require.NoError(t, s.Deregister(k, InstanceKey{IP: "[2001:db8::5]", Port: 7001}), "a blank cluster is DEFAULT")
	require.Zero(t, lookup(t, s, k).Len())
	for _, ip := range []string{"2001:db8:::5", "300.1.1.1"} {
		requireBadRequest(t, s.Register(k, registration(ip, 1)), "is incorrect")
	}
}

func TestSB03_PortsAreExactAndZeroIsOne(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("edge")
	for _, port := range []int{1234, 0, 65535} {
		require.NoError(t, s.Register(k, registration("192.0.2.20", port)))
	}
	require.NoError(t, s.Register(k, registration("192.0.2.21", 80)))
	require.Equal(t, []int{0, 1234, 65535, 80}, ports(s, k))
	require.NoError(t, s.Deregister(k, at("192.0.2.20", 0)))
	require.Equal(t, []int{1234, 65535, 80}, ports(s, k))

	for _, port := range []int{-1, 65536} {
		requireBadRequest(t, s.Register(k, registration("192.0.2.20", port)), "ports range")
	}
	for _, weight := range []float64{math.NaN(), math.Inf(1), -1, 10001} {
		r := registration("192.0.2.22", 1)
		r.Weight = weight
		requireBadRequest(t, s.Register(k, r), "The weights range from 0.0 to 10000.0")
	}
	for weight, want := range map[float64]float64{0: 0, 10000: 10000, 0.001: 0.01} {
		r := registration("192.0.2.22", 1)
		r.Weight = weight
		require.NoError(t, s.Register(k, r))
		require.Equal(t, want, instance(t, s, k, r.InstanceKey).Weight)
	}
}

func TestRegister_NamesThatCannotBeChangeNothing(t *testing.T) {
	s := newStore(t, Options{})
	r := registration("192.0.2.1", 1)
	requireBadRequest(t, s.Register(serviceKey("a/b"), r), "dom name can only have these characters")
	r.Cluster = "under_score"
	requireBadRequest(t, s.Register(serviceKey("c"), r), "cluster name can only have these characters")
	require.Empty(t, s.Services("public"))
}

func TestRegister_AgainKeepsIDAndHealth(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("again")
	r := registration("192.0.2.1", 1)
	r.Healthy = false
	require.NoError(t, s.Register(k, r))
	require.False(t, instance(t, s, k, r.InstanceKey).Healthy, "the initial health is honoured")

	r.Healthy, r.Weight, r.App = true, 3, "shop"
	require.NoError(t, s.Register(k, withMetadata(r, "v", "2")))
	i := instance(t, s, k, r.InstanceKey)
	require.False(t, i.Healthy, "a known instance recovers by a beat only")
	require.Equal(t, "192.0.2.1#1#DEFAULT#DEFAULT_GROUP@@again", i.ID)
	require.Equal(t, 3.0, i.Weight)
	require.Equal(t, map[string]string{"v": "2"}, i.Metadata)
	require.Equal(t, "shop", i.App)

	_, err := s.Beat(k, r.InstanceKey, nil)
	require.NoError(t, err)
	require.True(t, instance(t, s, k, r.InstanceKey).Healthy)
}

func TestRegister_TheSameAddressInTwoClustersIsTwo(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("two")
	a, b := registration("192.0.2.1", 1), registration("192.0.2.1", 1)
	b.Cluster = "B"
	require.NoError(t, s.Register(k, a))
	require.NoError(t, s.Register(k, b))
	require.Equal(t, []string{"B", "DEFAULT"}, lookup(t, s, k).Clusters())
	require.NoError(t, s.Deregister(k, b.InstanceKey))
	require.Equal(t, []string{"DEFAULT"}, lookup(t, s, k).Clusters())
}

func TestRegister_DoesNotUndoAnOperator(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("operated")
	r := withMetadata(registration("192.0.2.1", 1), "v", "1", "zone", "a")
	require.NoError(t, s.Register(k, r))

	operated := withMetadata(r, "v", "1", "zone", "b", "note", "drained")
	operated.Enabled = false
	require.NoError(t, s.Update(k, operated, allGiven, true))

	again := withMetadata(r, "v", "2", "zone", "a")
	again.Weight = 5
	require.NoError(t, s.Register(k, again))
	i := instance(t, s, k, r.InstanceKey)
	require.False(t, i.Enabled, "the operator switched it off")
	require.Equal(t, 5.0, i.Weight, "the operator did not touch the weight")
	require.Equal(t, map[string]string{"v": "2", "zone": "b", "note": "drained"}, i.Metadata)

	require.NoError(t, s.Deregister(k, r.InstanceKey))
	require.NoError(t, s.Register(k, again))
	i = instance(t, s, k, r.InstanceKey)
	require.True(t, i.Enabled, "deregistering ended the override")
	require.Equal(t, map[string]string{"v": "2", "zone": "a"}, i.Metadata)
}

func TestUpdate_WhatIsNotGivenIsResetAndNotKept(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("reset")
	r := withMetadata(registration("192.0.2.1", 1), "v", "1")
	r.Weight, r.App = 7, "shop"
	require.NoError(t, s.Register(k, r))
	weight := 3.0
	require.NoError(t, s.Patch(k, r.InstanceKey, Patch{Weight: &weight}))

	off := registration("192.0.2.1", 1)
	off.Enabled = false
	require.NoError(t, s.Update(k, off, Given{Enabled: true}, true))
	i := instance(t, s, k, r.InstanceKey)
	require.False(t, i.Enabled)
	require.Equal(t, 1.0, i.Weight, "replaced at once, an earlier override included")
	require.Empty(t, i.Metadata)
	require.Equal(t, DefaultApp, i.App)

	require.NoError(t, s.Register(k, r))
	i = instance(t, s, k, r.InstanceKey)
	require.False(t, i.Enabled, "the operator said so")
	require.Equal(t, 7.0, i.Weight, "the operator said nothing of the rest")
	require.Equal(t, map[string]string{"v": "1"}, i.Metadata)
	require.Equal(t, "shop", i.App)
}

func TestUpdate_MustExist(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("must")
	r := registration("192.0.2.1", 1)
	r.Weight = 8

	err := s.Update(k, r, allGiven, true)
	require.ErrorIs(t, err, ErrServiceNotFound)
	requireBadRequest(t, err, "service not found, namespace: public, service: DEFAULT_GROUP@@must")
	require.Empty(t, s.Services("public"), "a refused update creates nothing")

	require.NoError(t, s.Register(k, registration("192.0.2.2", 1)))
	err = s.Update(k, r, allGiven, true)
	require.ErrorIs(t, err, ErrInstanceNotFound)
	requireBadRequest(t, err, "instance not exist: 192.0.2.1:1:unknown:DEFAULT_8.0_true_false_DEFAULT")

	elsewhere := registration("192.0.2.2", 1)
	elsewhere.Cluster = "B"
	require.NoError(t, s.Update(k, elsewhere, allGiven, true), "the cluster is not part of existence")
	require.Equal(t, 2, lookup(t, s, k).Len())
}

func TestUpdate_OfOthersRegistersWhatIsUnknown(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("upsert")
	r := registration("192.0.2.1", 1)
	r.Healthy = false
	require.NoError(t, s.Update(k, r, allGiven, false))
	require.False(t, instance(t, s, k, r.InstanceKey).Healthy)
}

func TestUpdate_ReplacesAllAndKeepsHealth(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("replace")
	r := withMetadata(registration("192.0.2.1", 1), "v", "1")
	r.Weight, r.Healthy, r.App = 7, false, "shop"
	require.NoError(t, s.Register(k, r))
	require.NoError(t, s.Update(k, registration("192.0.2.1", 1), allGiven, true))
	i := instance(t, s, k, r.InstanceKey)
	require.Equal(t, 1.0, i.Weight)
	require.Empty(t, i.Metadata)
	require.Equal(t, DefaultApp, i.App)
	require.False(t, i.Healthy)
}

func TestPatch_ChangesOnlyWhatIsGiven(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("patch")
	r := withMetadata(registration("192.0.2.1", 1), "v", "1")
	require.NoError(t, s.Register(k, r))

	weight, off := 0.005, false
	require.NoError(t, s.Patch(k, r.InstanceKey, Patch{Weight: &weight}))
	require.NoError(t, s.Patch(k, r.InstanceKey, Patch{Enabled: &off, Healthy: &off}))
	i := instance(t, s, k, r.InstanceKey)
	require.Equal(t, 0.01, i.Weight)
	require.False(t, i.Enabled)
	require.False(t, i.Healthy)
	require.Equal(t, map[string]string{"v": "1"}, i.Metadata)

	require.NoError(t, s.Patch(k, r.InstanceKey, Patch{Metadata: map[string]string{"w": "2"}}))
	require.Equal(t, map[string]string{"w": "2"}, instance(t, s, k, r.InstanceKey).Metadata)

	heavy := 1e9
	requireBadRequest(t, s.Patch(k, r.InstanceKey, Patch{Weight: &heavy}), "weights range")
	requireBadRequest(t, s.Patch(k, at("192.0.2.9", 1), Patch{}), "instance not found")
	requireBadRequest(t, s.Patch(serviceKey("unknown"), r.InstanceKey, Patch{}), "instance not found")
}

func TestPatchMetadata_OfSomeAndOfAll(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("batch")
	for port := range 3 {
		require.NoError(t, s.Register(k, withMetadata(registration("192.0.2.1", port), "old", "x")))
	}
	updated := s.PatchMetadata(k, []InstanceKey{at("192.0.2.1", 1), at("192.0.2.1", 9), {IP: "::::"}},
		map[string]string{"new": "y"}, nil)
	require.Equal(t, []InstanceKey{at("192.0.2.1", 1)}, updated)
	require.Equal(t, map[string]string{"old": "x", "new": "y"}, instance(t, s, k, at("192.0.2.1", 1)).Metadata)

	require.Len(t, s.PatchMetadata(k, nil, nil, []string{"old"}), 3)
	require.Empty(t, instance(t, s, k, at("192.0.2.1", 0)).Metadata)
	require.Equal(t, map[string]string{"new": "y"}, instance(t, s, k, at("192.0.2.1", 1)).Metadata)
	require.Empty(t, s.PatchMetadata(serviceKey("unknown"), nil, nil, nil))
}

func TestDeregister_OfTheUnknownIsNoError(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("nobody")
	require.NoError(t, s.Deregister(k, at("192.0.2.1", 1)))
	_, ok := s.Lookup(k)
	require.False(t, ok, "and creates nothing")
	require.NoError(t, s.Register(k, registration("192.0.2.1", 1)))
	require.NoError(t, s.Deregister(k, at("192.0.2.1", 2)))
	require.Equal(t, []int{1}, ports(s, k))
	bad := at("192.0.2.1", 1)
	bad.Cluster = "a b"
	requireBadRequest(t, s.Deregister(k, bad), "cluster name can only have these characters")
}

func TestInstanceID_Numbers(t *testing.T) {
	s := newStore(t, Options{})
	k := serviceKey("numbers")
	register := func(port int) string {
		r := withMetadata(registration("192.0.2.1", port), wire.MetadataIDGenerator, "SnowFlake")
		require.NoError(t, s.Register(k, r))
		return instance(t, s, k, r.InstanceKey).ID
	}
	require.NoError(t, s.Register(k, registration("192.0.2.1", 99)))
	require.Equal(t, "0", register(10))
	require.Equal(t, "1", register(11))
	require.Equal(t, "2", register(12))
	require.NoError(t, s.Register(k, registration("192.0.2.1", 11)))
	require.Equal(t, "1", instance(t, s, k, at("192.0.2.1", 11)).ID, "kept when the generator goes")
	require.NoError(t, s.Deregister(k, at("192.0.2.1", 10)))
	require.Equal(t, "0", register(13), "the smallest that is free")
	require.Equal(t, "3", register(14))

	require.NoError(t, s.Merge(k, Record{
		InstanceKey: at("192.0.2.2", 1), ID: "4",
		Registered: Registered{Version: Version{Clock: 1}, Weight: 1, Enabled: true},
	}))
	require.Equal(t, "5", register(15), "a peer's number is taken")
}
