package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyCommand draws from few names, so that commands meet.
func anyCommand() *rapid.Generator[Command] {
	name := rapid.SampledFrom([]string{"a", "b", "ab"})
	port := rapid.IntRange(1, 4)
	metadata := rapid.MapOfN(rapid.SampledFrom([]string{"k", "preserved.instance.id.generator"}), rapid.SampledFrom([]string{"", "snowflake", "v"}), 0, 2)
	inst := rapid.Custom(func(t *rapid.T) Instance {
		i := instance(name.Draw(t, "service"), "192.0.2.1", port.Draw(t, "port"))
		i.Metadata, i.Weight, i.Enabled = metadata.Draw(t, "metadata"), rapid.Float64Range(0, 10000).Draw(t, "weight"), rapid.Bool().Draw(t, "enabled")
		return i
	})
	return rapid.Custom(func(t *rapid.T) Command {
		k, key := service(name.Draw(t, "service")), at("192.0.2.1", port.Draw(t, "port"))
		user, role := name.Draw(t, "user"), name.Draw(t, "role")
		switch rapid.IntRange(0, 20).Draw(t, "command") {
		case 0:
			return &CreateService{Service: Service{Key: k, Metadata: metadata.Draw(t, "metadata")}}
		case 1:
			return &PutService{Service: Service{Key: k, ProtectThreshold: rapid.Float64Range(0, 1).Draw(t, "threshold")}, MustExist: rapid.Bool().Draw(t, "must")}
		case 2:
			return &DeleteService{Service: k, IfEmpty: rapid.Bool().Draw(t, "empty")}
		case 3:
			return &PutCluster{Cluster: Cluster{Service: k, Name: role, HealthChecker: json.RawMessage(`{"type":"NONE"}`)}}
		case 4:
			return &UpdateInstance{Instance: inst.Draw(t, "instance"), MustExist: rapid.Bool().Draw(t, "must")}
		case 5:
			enabled := rapid.Bool().Draw(t, "enabled")
			return &PatchInstance{Service: k, InstanceKey: key, Enabled: &enabled}
		case 6:
			return &PatchMetadata{Service: k, All: rapid.Bool().Draw(t, "all"), Instances: []InstanceKey{key}, Set: metadata.Draw(t, "set"), Remove: []string{"k"}}
		case 7:
			return &DeregisterInstance{Service: k, InstanceKey: key}
		case 8:
			return &CreateNamespace{Namespace: Namespace{ID: user}}
		case 9:
			return &UpdateNamespace{Namespace: Namespace{ID: user, Name: role}}
		case 10:
			return &DeleteNamespace{ID: user}
		case 11:
			return &CreateUser{User: User{Name: user, PasswordHash: "h"}}
		case 12:
			return &UpdateUser{User: User{Name: user, PasswordHash: role}}
		case 13:
			return &DeleteUser{Name: user}
		case 14:
			return &AddRole{Role: Role{User: user, Role: role}}
		case 15:
			return &RemoveRole{Role: Role{User: rapid.SampledFrom([]string{"", user}).Draw(t, "whose"), Role: role}}
		case 16:
			return &AddPermission{Permission: Permission{Role: role, Resource: user, Action: "r"}}
		case 17:
			return &RemovePermission{Permission: Permission{Role: role, Resource: user, Action: "r"}}
		case 18:
			return &SetSwitches{Object: json.RawMessage(`{}`), Seen: rapid.Uint64Range(0, 3).Draw(t, "seen")}
		case 19:
			return &PutSecret{Secret: Secret{Name: user, Value: []byte(role)}, Replace: rapid.Bool().Draw(t, "replace")}
		default:
			return &RegisterInstance{Instance: inst.Draw(t, "instance")}
		}
	})
}

// TestModel_ReplicasAreEqual: a node that applied everything, one that was
// restored from a snapshot on the way, and one that follows by changes alone have
// the same state, byte by byte.
func TestModel_ReplicasAreEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, two := New(), New()
		mirrored := make(map[string]Instance)
		one.OnApply(func(c Change) {
			switch c.Kind {
			case ChangeInstances:
				for _, key := range c.Instances {
					name := fmt.Sprint(c.Service, key)
					delete(mirrored, name)
					if i, ok := c.View.Instance(c.Service, key); ok {
						mirrored[name] = i
					}
				}
			case ChangeService:
				for name, i := range mirrored {
					if i.Service == c.Service {
						delete(mirrored, name)
					}
				}
				for i := range c.View.Instances(c.Service) {
					mirrored[fmt.Sprint(c.Service, i.InstanceKey)] = *i
				}
			}
		})
		commands := rapid.SliceOfN(anyCommand(), 1, 60).Draw(t, "commands")
		restart := rapid.IntRange(0, len(commands)-1).Draw(t, "restart")
		for n, c := range commands {
			before := one.View()
			r1, err1 := apply(t, one, c)
			r2, err2 := apply(t, two, c)
			require.Equal(t, r1, r2)
			require.Equal(t, err1 == nil, err2 == nil)
			if err1 != nil || !r1.Changed {
				after := *one.View()
				after.applied--
				require.Equal(t, *before, after, "nothing changed")
			}
			if n == restart {
				restored := New()
				require.NoError(t, restored.Restore(bytes.NewReader(snapshot(t, two))))
				two = restored
			}
		}
		require.Equal(t, string(snapshot(t, one)), string(snapshot(t, two)))
		require.Len(t, mirrored, one.View().InstanceCount())
		for i := range one.View().AllInstances() {
			require.Equal(t, *i, mirrored[fmt.Sprint(i.Service, i.InstanceKey)])
		}
	})
}

// FuzzDecode: whatever is in a log entry, it is a command, refused, or of a newer
// version; a command that is well formed comes out of its own encoding again.
func FuzzDecode(f *testing.F) {
	for _, c := range every() {
		encoded, err := Encode(c)
		require.NoError(f, err)
		f.Add(encoded)
	}
	f.Add([]byte(`{"op":"x","v":9,"body":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New()
		for _, c := range every()[:15] {
			must(t, s, c)
		}
		before := snapshot(t, s)
		_, err := s.Apply(data)
		var unknown *UnknownCommandError
		if errors.As(err, &unknown) {
			require.Equal(t, before, snapshot(t, s))
		}
		require.NoError(t, New().Restore(bytes.NewReader(snapshot(t, s))))
		c, err := decode(data)
		if err != nil || c.check() != nil {
			return
		}
		encoded, err := Encode(c)
		require.NoError(t, err)
		again, err := decode(encoded)
		require.NoError(t, err)
		twice, err := Encode(again)
		require.NoError(t, err)
		require.Equal(t, string(encoded), string(twice))
	})
}

// FuzzRestore: whatever a snapshot is, it is read whole or not at all.
func FuzzRestore(f *testing.F) {
	s := New()
	for _, c := range every()[:15] {
		must(f, s, c)
	}
	f.Add(snapshot(f, s))
	f.Add(snapshot(f, New()))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New()
		if s.Restore(bytes.NewReader(data)) == nil {
			again := New()
			require.NoError(t, again.Restore(bytes.NewReader(snapshot(t, s))))
			require.Equal(t, string(snapshot(t, s)), string(snapshot(t, again)))
		}
	})
}

// direct is a proposer without consensus.
type direct struct {
	*State
	value any
}

func (d direct) Propose(_ context.Context, command []byte) (any, error) {
	if d.value != nil {
		return d.value, nil
	}
	return d.Apply(command)
}

func TestPropose(t *testing.T) {
	s := New()
	r, err := Propose(t.Context(), direct{State: s}, &RegisterInstance{Instance: instance("a", "192.0.2.1", 1)})
	require.NoError(t, err)
	require.Len(t, r.Instances, 1)
	_, err = Propose(t.Context(), direct{State: s}, &DeleteService{Service: service("none")})
	require.ErrorIs(t, err, ErrServiceNotFound)
	_, err = Propose(t.Context(), direct{State: s}, &CreateUser{})
	require.Error(t, err)
	_, err = Propose(t.Context(), direct{State: s, value: 7}, &DeleteNamespace{ID: "x"})
	require.ErrorContains(t, err, "came to a int")
}
