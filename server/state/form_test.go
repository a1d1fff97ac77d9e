package state

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// every is one well-formed command of each type.
func every() []Command {
	weight, enabled, app := 2.5, false, "shop"
	metadata := map[string]string{"k": "v <&> 你好"}
	return []Command{
		&CreateService{Service: Service{Key: service("a"), ProtectThreshold: 0.5, Metadata: metadata, Selector: json.RawMessage(`{"type":"label"}`)}},
		&RegisterInstance{Instance: Instance{
			Service: service("a"), InstanceKey: at("192.0.2.1", 80), Weight: 1, Enabled: true, Healthy: true, Metadata: metadata, App: "app",
		}},
		&UpdateInstance{Instance: instance("a", "192.0.2.1", 80), MustExist: true},
		&PatchInstance{Service: service("a"), InstanceKey: at("192.0.2.1", 80), Weight: &weight, Enabled: &enabled, App: &app, Metadata: &metadata},
		&PatchMetadata{Service: service("a"), Instances: []InstanceKey{at("192.0.2.1", 80)}, Set: metadata, Remove: []string{"gone"}},
		&PutService{Service: Service{Key: service("b")}},
		&PutCluster{Cluster: Cluster{Service: service("a"), Name: "c1", HealthChecker: json.RawMessage(`{"type":"TCP"}`), CheckPort: 80, UseInstancePort: true}},
		&CreateNamespace{Namespace: Namespace{ID: "dev", Name: "Dev", Description: "for trying"}},
		&UpdateNamespace{Namespace: Namespace{ID: "dev", Name: "Development"}},
		&CreateUser{User: User{Name: "nacos", PasswordHash: "$2a$10$x"}},
		&UpdateUser{User: User{Name: "nacos", PasswordHash: "$2a$10$y"}},
		&AddRole{Role: Role{User: "nacos", Role: "r"}},
		&AddPermission{Permission: Permission{Role: "r", Resource: ":*:*", Action: "rw"}},
		&SetSwitches{Object: json.RawMessage(`{"checkTimes":7}`)},
		&PutSecret{Secret: Secret{Name: "key", Value: []byte{1, 2, 3}}},
		&DeregisterInstance{Service: service("a"), InstanceKey: at("192.0.2.1", 80)},
		&DeleteService{Service: service("b"), IfEmpty: true},
		&DeleteNamespace{ID: "dev"},
		&RemovePermission{Permission: Permission{Role: "r", Resource: ":*:*", Action: "rw"}},
		&RemoveRole{Role: Role{User: "nacos", Role: "r"}},
		&DeleteUser{Name: "nacos"},
	}
}

// TestCommands_FormOnDisk: logs of old versions are read by new ones, so these
// texts never change.
func TestCommands_FormOnDisk(t *testing.T) {
	const a = `"service":{"Namespace":"public","Group":"DEFAULT_GROUP","Name":"a"}`
	const b = `"service":{"Namespace":"public","Group":"DEFAULT_GROUP","Name":"b"}`
	want := []string{
		`{"op":"service.create","v":1,"body":{` + a + `,"protectThreshold":0.5,"metadata":{"k":"v <&> 你好"},"selector":{"type":"label"}}}`,
		`{"op":"instance.register","v":1,"body":{` + a + `,"cluster":"DEFAULT","ip":"192.0.2.1","port":80,"id":"","weight":1,"enabled":true,"healthy":true,"metadata":{"k":"v <&> 你好"},"app":"app"}}`,
		`{"op":"instance.update","v":1,"body":{` + a + `,"cluster":"DEFAULT","ip":"192.0.2.1","port":80,"id":"","weight":1,"enabled":true,"healthy":true,"mustExist":true}}`,
		`{"op":"instance.patch","v":1,"body":{` + a + `,"cluster":"DEFAULT","ip":"192.0.2.1","port":80,"weight":2.5,"enabled":false,"app":"shop","metadata":{"k":"v <&> 你好"}}}`,
		`{"op":"instance.metadata","v":1,"body":{` + a + `,"instances":[{"cluster":"DEFAULT","ip":"192.0.2.1","port":80}],"set":{"k":"v <&> 你好"},"remove":["gone"]}}`,
		`{"op":"service.put","v":1,"body":{` + b + `,"protectThreshold":0}}`,
		`{"op":"cluster.put","v":1,"body":{` + a + `,"cluster":"c1","healthChecker":{"type":"TCP"},"checkPort":80,"useInstancePort":true}}`,
		`{"op":"namespace.create","v":1,"body":{"id":"dev","name":"Dev","description":"for trying"}}`,
		`{"op":"namespace.update","v":1,"body":{"id":"dev","name":"Development"}}`,
		`{"op":"user.create","v":1,"body":{"name":"nacos","passwordHash":"$2a$10$x"}}`,
		`{"op":"user.update","v":1,"body":{"name":"nacos","passwordHash":"$2a$10$y"}}`,
		`{"op":"role.add","v":1,"body":{"user":"nacos","role":"r"}}`,
		`{"op":"permission.add","v":1,"body":{"role":"r","resource":":*:*","action":"rw"}}`,
		`{"op":"switches.set","v":1,"body":{"object":{"checkTimes":7},"seen":0}}`,
		`{"op":"secret.put","v":1,"body":{"name":"key","value":"AQID"}}`,
		`{"op":"instance.deregister","v":1,"body":{` + a + `,"cluster":"DEFAULT","ip":"192.0.2.1","port":80}}`,
		`{"op":"service.delete","v":1,"body":{` + b + `,"ifEmpty":true}}`,
		`{"op":"namespace.delete","v":1,"body":{"id":"dev"}}`,
		`{"op":"permission.remove","v":1,"body":{"role":"r","resource":":*:*","action":"rw"}}`,
		`{"op":"role.remove","v":1,"body":{"user":"nacos","role":"r"}}`,
		`{"op":"user.delete","v":1,"body":{"name":"nacos"}}`,
	}
	for i, c := range every() {
		encoded, err := Encode(c)
		require.NoError(t, err)
		require.Equal(t, want[i], string(encoded))
		decoded, err := decode(encoded)
		require.NoError(t, err)
		require.Equal(t, c, decoded)
	}
}

func TestSnapshot_FormOnDisk(t *testing.T) {
	s := New()
	for _, c := range every()[:15] {
		must(t, s, c)
	}
	require.Equal(t, `{"head":{"format":"rollcall-state","v":1,"applied":15}}
{"namespace":{"id":"dev","name":"Development"}}
{"service":{"service":{"Namespace":"public","Group":"DEFAULT_GROUP","Name":"a"},"protectThreshold":0.5,"metadata":{"k":"v <&> 你好"},"selector":{"type":"label"}}}
{"service":{"service":{"Namespace":"public","Group":"DEFAULT_GROUP","Name":"b"},"protectThreshold":0}}
{"cluster":{"service":{"Namespace":"public","Group":"DEFAULT_GROUP","Name":"a"},"cluster":"c1","healthChecker":{"type":"TCP"},"checkPort":80,"useInstancePort":true}}
{"instance":{"service":{"Namespace":"public","Group":"DEFAULT_GROUP","Name":"a"},"cluster":"DEFAULT","ip":"192.0.2.1","port":80,"id":"192.0.2.1#80#DEFAULT#DEFAULT_GROUP@@a","weight":2.5,"enabled":false,"healthy":true,"metadata":{"k":"v <&> 你好"},"app":"shop"}}
{"user":{"name":"nacos","passwordHash":"$2a$10$y"}}
{"role":{"user":"nacos","role":"r"}}
{"permission":{"role":"r","resource":":*:*","action":"rw"}}
{"secret":{"name":"key","value":"AQID"}}
{"switches":{"object":{"checkTimes":7},"revision":1}}
{"end":{"records":10}}
`, string(snapshot(t, s)))
	for _, c := range every()[15:] {
		must(t, s, c)
	}
	require.Equal(t, 1, bytes.Count(snapshot(t, s), []byte("DEFAULT_GROUP\",\"Name\":\"a\"},\"protect")))
}

func TestCommands_NotWellFormed(t *testing.T) {
	bad := func(change func(i *Instance)) Command {
		i := instance("a", "192.0.2.1", 1)
		change(&i)
		return &RegisterInstance{Instance: i}
	}
	for name, c := range map[string]Command{
		"no namespace":      bad(func(i *Instance) { i.Service.Namespace = "" }),
		"zero byte":         bad(func(i *Instance) { i.Service.Namespace = "a\x00b" }),
		"zero byte in ip":   bad(func(i *Instance) { i.IP = "a\x00b" }),
		"no group":          bad(func(i *Instance) { i.Service.Group = "" }),
		"name with @@":      bad(func(i *Instance) { i.Service.Name = "a@@b" }),
		"no ip":             bad(func(i *Instance) { i.IP = "" }),
		"no cluster":        bad(func(i *Instance) { i.Cluster = "" }),
		"cluster":           bad(func(i *Instance) { i.Cluster = "a_b" }),
		"port":              bad(func(i *Instance) { i.Port = 65536 }),
		"weight":            bad(func(i *Instance) { i.Weight = -1 }),
		"selector":          &PutService{Service: Service{Key: service("a"), Selector: json.RawMessage(`[]`)}},
		"no checker":        &PutCluster{Cluster: Cluster{Service: service("a"), Name: "c"}},
		"checker":           &PutCluster{Cluster: Cluster{Service: service("a"), Name: "c", HealthChecker: json.RawMessage(`null`)}},
		"no user name":      &CreateUser{User: User{PasswordHash: "x"}},
		"no password":       &CreateUser{User: User{Name: "x"}},
		"zero byte in user": &CreateUser{User: User{Name: "x\x00", PasswordHash: "x"}},
		"no role":           &AddRole{Role: Role{User: "x"}},
		"action":            &AddPermission{Permission: Permission{Role: "r", Resource: "*", Action: "x"}},
		"no switches":       &SetSwitches{},
		"empty secret":      &PutSecret{Secret: Secret{Name: "x"}},
	} {
		_, err := Encode(c)
		require.ErrorAs(t, err, new(wire.BadRequest), name)
		require.NotEmpty(t, err.Error(), name)
	}
}

// TestCommands_OfANewerVersion change nothing, and whoever replays them must stop.
func TestCommands_OfANewerVersion(t *testing.T) {
	for _, text := range []string{
		`{"op":"instance.teleport","v":1,"body":{}}`,
		`{"op":"user.delete","v":2,"body":{"name":"x"}}`,
		`{"op":"user.delete","v":1,"body":{"name":"x","softly":true}}`,
		`{"op":"user.delete","v":1,"body":{"name":{"first":"x"}}}`,
	} {
		s := New()
		before := s.View()
		_, err := s.Apply([]byte(text))
		var unknown *UnknownCommandError
		require.ErrorAs(t, err, &unknown, text)
		require.True(t, unknown.Halts())
		require.ErrorContains(t, err, "newer version")
		require.ErrorAs(t, s.Check([]byte(text)), &unknown)
		require.Same(t, before, s.View())
	}
	for _, text := range []string{``, `x`, `{}`, `[]`, `null`, `{"op":"user.delete","v":0}`, `{"op":"user.delete","v":1}`, `{"op":"user.delete","v":1,"body":[]}`} {
		require.ErrorAs(t, New().Check([]byte(text)), new(wire.BadRequest), text)
		_, err := New().Apply([]byte(text))
		require.ErrorAs(t, err, new(wire.BadRequest), text)
	}
}

func TestSnapshots_NotReadable(t *testing.T) {
	s := New()
	must(t, s, every()[0])
	good := snapshot(t, s)
	for name, text := range map[string]string{
		"empty":             "",
		"something else":    `{"a":1}`,
		"cut":               string(good[:len(good)-30]),
		"without its end":   string(good[:bytes.LastIndex(good, []byte(`{"end"`))]),
		"a record less":     `{"head":{"format":"rollcall-state","v":1,"applied":0}}` + "\n" + `{"end":{"records":1}}`,
		"something follows": string(good) + "{}",
		"an empty record":   `{"head":{"format":"rollcall-state","v":1,"applied":0}}{}` + `{"end":{"records":1}}`,
		"a newer record":    `{"head":{"format":"rollcall-state","v":1,"applied":0}}{"quota":{}}{"end":{"records":1}}`,
		"a newer version":   `{"head":{"format":"rollcall-state","v":2,"applied":0}}`,
	} {
		before := snapshot(t, s)
		require.Error(t, s.CheckSnapshot(bytes.NewReader([]byte(text))), name)
		require.Error(t, s.Restore(bytes.NewReader([]byte(text))), name)
		require.Equal(t, before, snapshot(t, s), name)
	}
	require.NoError(t, New().CheckSnapshot(bytes.NewReader(good)))
}
