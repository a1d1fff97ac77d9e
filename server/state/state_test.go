package state

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

func TestInstances(t *testing.T) {
	s := New()
	first := instance("orders", "192.0.2.1", 8080)
	first.Metadata = map[string]string{"a": "1"}
	r := must(t, s, &RegisterInstance{Instance: first})
	require.True(t, r.Changed)
	require.Equal(t, "192.0.2.1#8080#DEFAULT#DEFAULT_GROUP@@orders", r.Instances[0].ID)
	require.False(t, must(t, s, &RegisterInstance{Instance: first}).Changed, "it is the same")

	again := first
	again.Weight, again.Healthy, again.Metadata, again.ID = 3, false, nil, "another"
	r = must(t, s, &RegisterInstance{Instance: again})
	require.True(t, r.Changed)
	got, ok := s.View().Instance(service("orders"), at("192.0.2.1", 8080))
	require.True(t, ok)
	require.Equal(t, r.Instances[0].ID, got.ID, "it is kept")
	require.True(t, got.Healthy, "the first health is kept")
	require.Equal(t, 3.0, got.Weight)
	require.Empty(t, got.Metadata)

	other := first
	other.Cluster = "c2"
	_, err := apply(t, s, &UpdateInstance{Instance: instance("orders", "192.0.2.9", 8080), MustExist: true})
	require.ErrorIs(t, err, ErrInstanceNotFound)
	require.EqualError(t, err, "instance not exist: 192.0.2.9:8080:unknown:DEFAULT_1.0_true_false_DEFAULT")
	must(t, s, &UpdateInstance{Instance: other, MustExist: true})
	require.Equal(t, 2, s.View().InstanceCount(), "the address is known in another cluster")
	must(t, s, &UpdateInstance{Instance: instance("new", "192.0.2.9", 8080)})

	weight := 7.0
	_, err = apply(t, s, &PatchInstance{Service: service("orders"), InstanceKey: at("192.0.2.3", 1), Weight: &weight})
	require.ErrorIs(t, err, ErrInstanceNotFound)
	require.EqualError(t, err, "instance not found")
	r = must(t, s, &PatchInstance{Service: service("orders"), InstanceKey: at("192.0.2.1", 8080), Weight: &weight})
	require.Equal(t, 7.0, r.Instances[0].Weight)
	require.True(t, r.Instances[0].Enabled)

	r = must(t, s, &PatchMetadata{Service: service("orders"), All: true, Set: map[string]string{"x": "y"}, Remove: []string{"a"}})
	require.Len(t, r.Instances, 2)
	for _, i := range r.Instances {
		require.Equal(t, map[string]string{"x": "y"}, i.Metadata)
	}
	require.Equal(t, "1", first.Metadata["a"], "what was handed over is not changed")
	r = must(t, s, &PatchMetadata{
		Service: service("orders"), Set: map[string]string{"x": "z"},
		Instances: []InstanceKey{at("192.0.2.1", 8080), at("192.0.2.77", 1), at("192.0.2.1", 8080)},
	})
	require.Len(t, r.Instances, 1)
	require.False(t, must(t, s, &PatchMetadata{Service: service("none"), All: true}).Changed)

	r = must(t, s, &DeregisterInstance{Service: service("orders"), InstanceKey: at("192.0.2.1", 8080)})
	require.True(t, r.Changed)
	require.Len(t, r.Instances, 1)
	require.False(t, must(t, s, &DeregisterInstance{Service: service("orders"), InstanceKey: at("192.0.2.1", 8080)}).Changed)
	var left []string
	for i := range s.View().AllInstances() {
		left = append(left, i.ID)
	}
	require.Equal(t, []string{"192.0.2.9#8080#DEFAULT#DEFAULT_GROUP@@new", "192.0.2.1#8080#c2#DEFAULT_GROUP@@orders"}, left)
}

func TestInstances_Snowflake(t *testing.T) {
	s := New()
	numbered := func(port int) string {
		i := instance("s", "192.0.2.1", port)
		i.Metadata = map[string]string{wire.MetadataIDGenerator: "SnowFlake"}
		return must(t, s, &RegisterInstance{Instance: i}).Instances[0].ID
	}
	require.Equal(t, []string{"0", "1", "2"}, []string{numbered(1), numbered(2), numbered(3)})
	must(t, s, &DeregisterInstance{Service: service("s"), InstanceKey: at("192.0.2.1", 2)})
	require.Equal(t, []string{"1", "3", "0"}, []string{numbered(4), numbered(5), numbered(1)})
}

func TestServices(t *testing.T) {
	s := New()
	must(t, s, &CreateService{Service: Service{Key: service("a"), ProtectThreshold: 0.5}})
	_, err := apply(t, s, &CreateService{Service: Service{Key: service("a")}})
	require.ErrorIs(t, err, ErrServiceExists)
	require.ErrorIs(t, err, ErrExists)
	require.EqualError(t, err, "specified service already exists, serviceName : DEFAULT_GROUP@@a")
	var bad wire.BadRequest
	require.ErrorAs(t, err, &bad)
	must(t, s, &RegisterInstance{Instance: instance("implied", "192.0.2.1", 1)})
	_, err = apply(t, s, &CreateService{Service: Service{Key: service("implied")}})
	require.ErrorIs(t, err, ErrServiceExists)

	_, err = apply(t, s, &PutService{Service: Service{Key: service("none")}, MustExist: true})
	require.ErrorIs(t, err, ErrServiceNotFound)
	require.EqualError(t, err, "service DEFAULT_GROUP@@none not found!")
	must(t, s, &PutService{Service: Service{Key: service("implied"), ProtectThreshold: 1}, MustExist: true})
	must(t, s, &PutService{Service: Service{Key: service("a"), Metadata: map[string]string{"k": "v"}}})
	require.False(t, must(t, s, &PutService{Service: Service{Key: service("a"), Metadata: map[string]string{"k": "v"}}}).Changed)
	a, ok := s.View().Service(service("a"))
	require.True(t, ok)
	require.Zero(t, a.ProtectThreshold, "everything is replaced")

	cluster := Cluster{Service: service("a"), Name: "c1", HealthChecker: json.RawMessage(`{"type": "HTTP", "path": "/ok"}`), CheckPort: 90}
	require.True(t, must(t, s, &PutCluster{Cluster: cluster}).Changed)
	require.False(t, must(t, s, &PutCluster{Cluster: cluster}).Changed)
	got, ok := s.View().Cluster(service("a"), "c1")
	require.True(t, ok)
	require.JSONEq(t, string(cluster.HealthChecker), string(got.HealthChecker))
	must(t, s, &PutCluster{Cluster: Cluster{Service: service("only-clusters"), Name: "c1", HealthChecker: json.RawMessage(`{}`)}})

	require.Equal(t, []wire.ServiceKey{service("a"), service("implied"), service("only-clusters")}, slices.Collect(s.View().ServiceKeys()))

	_, err = apply(t, s, &DeleteService{Service: service("none")})
	require.ErrorIs(t, err, ErrServiceNotFound)
	require.EqualError(t, err, "specified service not exist, serviceName : DEFAULT_GROUP@@none")
	_, err = apply(t, s, &DeleteService{Service: service("implied"), IfEmpty: true})
	require.ErrorIs(t, err, ErrServiceNotEmpty)
	require.Len(t, must(t, s, &DeleteService{Service: service("implied")}).Instances, 1)
	for _, configured := range []Service{
		{Metadata: map[string]string{"k": "v"}}, {ProtectThreshold: 0.5}, {Selector: json.RawMessage(`{"type":"label","expression":"e"}`)},
	} {
		configured.Key = service("b")
		must(t, s, &PutService{Service: configured})
		_, err = apply(t, s, &DeleteService{Service: service("b"), IfEmpty: true})
		require.ErrorIs(t, err, ErrServiceNotEmpty, "settings are an operator's work")
	}
	_, err = apply(t, s, &DeleteService{Service: service("only-clusters"), IfEmpty: true})
	require.ErrorIs(t, err, ErrServiceNotEmpty)
	must(t, s, &PutService{Service: Service{Key: service("b"), Selector: json.RawMessage(`{"type":"none"}`)}})
	must(t, s, &DeleteService{Service: service("b"), IfEmpty: true})
	must(t, s, &DeleteService{Service: service("a")})
	must(t, s, &DeleteService{Service: service("only-clusters")})
	require.Empty(t, slices.Collect(s.View().ServiceKeys()))
}

// TestServices_NamesThatBeginAlike: a service is not its longer-named neighbour.
func TestServices_NamesThatBeginAlike(t *testing.T) {
	s := New()
	for _, name := range []string{"a", "a.b", "a-b", "ab"} {
		must(t, s, &RegisterInstance{Instance: instance(name, "192.0.2.1", 1)})
		must(t, s, &PutService{Service: Service{Key: service(name)}})
	}
	must(t, s, &DeleteService{Service: service("a")})
	require.Equal(t, 3, s.View().InstanceCount())
	require.Empty(t, slices.Collect(s.View().Instances(service("a"))))
	require.Len(t, slices.Collect(s.View().Instances(service("ab"))), 1)
}

func TestNamespaces(t *testing.T) {
	s := New()
	must(t, s, &CreateNamespace{Namespace: Namespace{ID: "dev", Name: "Dev"}})
	for _, id := range []string{"dev", "public"} {
		_, err := apply(t, s, &CreateNamespace{Namespace: Namespace{ID: id}})
		require.ErrorIs(t, err, ErrNamespaceExists, id)
	}
	for _, id := range []string{"", "a b", "a/b", "ü", string(bytes.Repeat([]byte("x"), 129))} {
		_, err := apply(t, s, &CreateNamespace{Namespace: Namespace{ID: id}})
		require.ErrorAs(t, err, new(wire.BadRequest), id)
	}
	_, err := apply(t, s, &UpdateNamespace{Namespace: Namespace{ID: "none"}})
	require.ErrorIs(t, err, ErrNamespaceNotFound)
	require.True(t, must(t, s, &UpdateNamespace{Namespace: Namespace{ID: "dev", Name: "D"}}).Changed)
	require.False(t, must(t, s, &UpdateNamespace{Namespace: Namespace{ID: "dev", Name: "D"}}).Changed)
	got, ok := s.View().Namespace("dev")
	require.True(t, ok)
	require.Equal(t, "D", got.Name)
	require.True(t, must(t, s, &DeleteNamespace{ID: "dev"}).Changed)
	require.False(t, must(t, s, &DeleteNamespace{ID: "dev"}).Changed)
	require.Empty(t, slices.Collect(s.View().Namespaces()))
}

func TestUsers(t *testing.T) {
	s := New()
	must(t, s, &CreateUser{User: User{Name: "ann", PasswordHash: "h1"}})
	_, err := apply(t, s, &CreateUser{User: User{Name: "ann", PasswordHash: "h2"}})
	require.ErrorIs(t, err, ErrUserExists)
	require.EqualError(t, err, "user 'ann' already exist!")
	_, err = apply(t, s, &UpdateUser{User: User{Name: "bob", PasswordHash: "h2"}})
	require.ErrorIs(t, err, ErrUserNotFound)
	must(t, s, &UpdateUser{User: User{Name: "ann", PasswordHash: "h3"}})
	ann, ok := s.View().User("ann")
	require.True(t, ok)
	require.Equal(t, "h3", ann.PasswordHash)

	_, err = apply(t, s, &AddPermission{Permission: Permission{Role: "dev", Resource: "*", Action: "r"}})
	require.ErrorIs(t, err, ErrRoleNotFound)
	require.EqualError(t, err, "role dev not found!")
	_, err = apply(t, s, &AddRole{Role: Role{User: "bob", Role: "dev"}})
	require.ErrorIs(t, err, ErrUserNotFound)
	must(t, s, &AddRole{Role: Role{User: "ann", Role: "dev"}})
	require.False(t, must(t, s, &AddRole{Role: Role{User: "ann", Role: "dev"}}).Changed)
	must(t, s, &AddPermission{Permission: Permission{Role: "dev", Resource: "*", Action: "r"}})
	require.False(t, must(t, s, &AddPermission{Permission: Permission{Role: "dev", Resource: "*", Action: "r"}}).Changed)
	must(t, s, &AddPermission{Permission: Permission{Role: "dev", Resource: "x", Action: "w"}})
	require.Len(t, slices.Collect(s.View().Permissions("dev")), 2)
	require.True(t, must(t, s, &RemovePermission{Permission: Permission{Role: "dev", Resource: "x", Action: "w"}}).Changed)

	must(t, s, &CreateUser{User: User{Name: "anna", PasswordHash: "h"}})
	must(t, s, &AddRole{Role: Role{User: "anna", Role: "dev"}})
	must(t, s, &AddRole{Role: Role{User: "ann", Role: AdminRole}})
	require.Len(t, slices.Collect(s.View().Roles("ann")), 2, "not those of anna")
	require.Len(t, slices.Collect(s.View().SearchUsers("nn")), 2)
	_, err = apply(t, s, &DeleteUser{Name: "ann"})
	require.ErrorIs(t, err, ErrUserIsAdmin)
	require.EqualError(t, err, "cannot delete admin: ann")
	must(t, s, &RemoveRole{Role: Role{User: "ann", Role: AdminRole}})
	require.True(t, must(t, s, &DeleteUser{Name: "ann"}).Changed)
	require.False(t, must(t, s, &DeleteUser{Name: "ann"}).Changed)
	must(t, s, &CreateUser{User: User{Name: "ann", PasswordHash: "h"}})
	require.Empty(t, slices.Collect(s.View().Roles("ann")), "a new user of an old name")
	require.True(t, s.View().RoleExists("dev"))
	require.True(t, must(t, s, &RemoveRole{Role: Role{Role: "dev"}}).Changed)
	require.False(t, s.View().RoleExists("dev"))
	require.Empty(t, slices.Collect(s.View().AllPermissions()))
}

func TestSwitchesAndSecrets(t *testing.T) {
	s := New()
	require.Empty(t, s.View().Switches())
	must(t, s, &SetSwitches{Object: json.RawMessage(`{"a":1}`)})
	_, err := apply(t, s, &SetSwitches{Object: json.RawMessage(`{"b":1}`)})
	require.ErrorIs(t, err, ErrSwitchesChanged, "made from switches that are no longer")
	must(t, s, &SetSwitches{Object: json.RawMessage(`{"a":1,"b":1}`), Seen: 1})
	require.Equal(t, Switches{Object: json.RawMessage(`{"a":1,"b":1}`), Revision: 2}, s.View().Switches())

	must(t, s, &PutSecret{Secret: Secret{Name: "jwt", Value: []byte("first")}})
	_, err = apply(t, s, &PutSecret{Secret: Secret{Name: "jwt", Value: []byte("second")}})
	require.ErrorIs(t, err, ErrSecretExists)
	value, ok := s.View().Secret("jwt")
	require.True(t, ok)
	require.Equal(t, "first", string(value))
	must(t, s, &PutSecret{Secret: Secret{Name: "jwt", Value: []byte("third")}, Replace: true})
	value, _ = s.View().Secret("jwt")
	require.Equal(t, "third", string(value))
	_, ok = s.View().Secret("none")
	require.False(t, ok)
}

func TestOnApply(t *testing.T) {
	s := New()
	must(t, s, &CreateNamespace{Namespace: Namespace{ID: "early"}})
	var got []Change
	s.OnApply(func(c Change) {
		require.Same(t, s.View(), c.View, "it was published")
		c.View = nil
		got = append(got, c)
	})
	require.Equal(t, []Change{{Kind: ChangeAll}}, got, "nothing is missed")
	got = nil
	for _, c := range every() {
		must(t, s, c)
	}
	a, b := service("a"), service("b")
	one := []InstanceKey{at("192.0.2.1", 80)}
	require.Equal(t, []Change{
		{Kind: ChangeService, Service: a},
		{Kind: ChangeInstances, Service: a, Instances: one},
		{Kind: ChangeInstances, Service: a, Instances: one},
		{Kind: ChangeInstances, Service: a, Instances: one},
		{Kind: ChangeService, Service: b},
		{Kind: ChangeCluster, Service: a, Cluster: "c1"},
		{Kind: ChangeNamespaces},
		{Kind: ChangeNamespaces},
		{Kind: ChangeAuth},
		{Kind: ChangeAuth},
		{Kind: ChangeAuth},
		{Kind: ChangeAuth},
		{Kind: ChangeSwitches},
		{Kind: ChangeSecrets},
		{Kind: ChangeInstances, Service: a, Instances: one},
		{Kind: ChangeService, Service: b},
		{Kind: ChangeNamespaces},
		{Kind: ChangeAuth},
		{Kind: ChangeAuth},
		{Kind: ChangeAuth},
	}, got, "one that changed nothing is not told")
	got = nil
	_, err := apply(t, s, &DeleteService{Service: service("none")})
	require.Error(t, err)
	require.Empty(t, got)
	require.NoError(t, s.Restore(bytes.NewReader(snapshot(t, New()))))
	require.Equal(t, []Change{{Kind: ChangeAll}}, got)
}

func TestView_IsAMoment(t *testing.T) {
	s := New()
	must(t, s, &RegisterInstance{Instance: instance("a", "192.0.2.1", 1)})
	before := s.View()
	must(t, s, &DeleteService{Service: service("a")})
	require.Equal(t, 1, before.InstanceCount())
	require.Equal(t, uint64(1), before.Applied())
	require.Zero(t, s.View().InstanceCount())
	require.Equal(t, uint64(2), s.View().Applied())
}

func TestErrors(t *testing.T) {
	err := wire.Refusef(ErrUserNotFound, "user %s", "x")
	require.ErrorIs(t, err, ErrNotFound)
	require.NotErrorIs(t, err, ErrServiceNotFound)
	var bad wire.BadRequest
	require.ErrorAs(t, err, &bad)
	require.Equal(t, wire.BadRequest("user x"), bad)
}
