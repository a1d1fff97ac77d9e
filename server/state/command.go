package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Command is one change of the state. The types of this package that implement
// it are all there are.
type Command interface {
	// tag names the command for ever.
	tag() string
	// check says what is wrong with the command itself, by a [wire.BadRequest].
	check() error
	// apply changes the view. It must be deterministic, and so must every version
	// of it: what once was applied is never refused later.
	apply(v *View) (Result, Change, error)
}

// commandVersion is the version of every command's form. A command whose meaning
// changes gets a higher one, which older versions refuse.
const commandVersion = 1

// envelope is a command in the log.
type envelope struct {
	Tag     string          `json:"op"`
	Version int             `json:"v"`
	Body    json.RawMessage `json:"body"`
}

// newCommand returns an empty command of a tag, nil for an unknown one.
func newCommand(tag string) Command {
	switch tag {
	case tagRegisterInstance:
		return &RegisterInstance{}
	case tagUpdateInstance:
		return &UpdateInstance{}
	case tagPatchInstance:
		return &PatchInstance{}
	case tagPatchMetadata:
		return &PatchMetadata{}
	case tagDeregisterInstance:
		return &DeregisterInstance{}
	case tagCreateService:
		return &CreateService{}
	case tagPutService:
		return &PutService{}
	case tagDeleteService:
		return &DeleteService{}
	case tagPutCluster:
		return &PutCluster{}
	case tagCreateNamespace:
		return &CreateNamespace{}
	case tagUpdateNamespace:
		return &UpdateNamespace{}
	case tagDeleteNamespace:
		return &DeleteNamespace{}
	case tagCreateUser:
		return &CreateUser{}
	case tagUpdateUser:
		return &UpdateUser{}
	case tagDeleteUser:
		return &DeleteUser{}
	case tagAddRole:
		return &AddRole{}
	case tagRemoveRole:
		return &RemoveRole{}
	case tagAddPermission:
		return &AddPermission{}
	case tagRemovePermission:
		return &RemovePermission{}
	case tagSetSwitches:
		return &SetSwitches{}
	case tagPutSecret:
		return &PutSecret{}
	}
	return nil
}

// Encode checks a command and returns its form for the log. What a client sent
// wrong is a [wire.BadRequest].
func Encode(c Command) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	body, err := wire.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the command %s: %w", c.tag(), err)
	}
	encoded, err := wire.Marshal(envelope{Tag: c.tag(), Version: commandVersion, Body: body})
	if err != nil {
		return nil, fmt.Errorf("encode the command %s: %w", c.tag(), err)
	}
	return encoded, nil
}

// unmarshalStrictly is json.Unmarshal of one value whose members are all known.
func unmarshalStrictly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("something follows the value")
	}
	return nil
}

// decode reads a command. One that is no command in any version is a
// [wire.BadRequest]. One with members that are not known is taken for a newer
// version's: it is in a log only if some version accepted it.
func decode(data []byte) (Command, error) {
	if c := decodePlain(data); c != nil {
		return c, nil
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil || e.Tag == "" || e.Version < 1 {
		return nil, wire.BadRequest("this is not a command")
	}
	c := newCommand(e.Tag)
	if c == nil || e.Version > commandVersion {
		return nil, &UnknownCommandError{Tag: e.Tag, Version: e.Version}
	}
	if len(e.Body) == 0 || e.Body[0] != '{' {
		return nil, wire.BadRequestf("the command %s has no body", e.Tag)
	}
	if err := unmarshalStrictly(e.Body, c); err != nil {
		return nil, &UnknownCommandError{Tag: e.Tag, Version: e.Version, Reason: err.Error()}
	}
	return c, nil
}

// plainRegister is how the command begins of which most logs consist.
const plainRegister = `{"op":"` + tagRegisterInstance + `","v":1,"body":`

// decodePlain is decode for registrations as they are written, nil for others.
func decodePlain(data []byte) Command {
	var c RegisterInstance
	p := plain{rest: data}
	p.literal(plainRegister)
	if p.failed {
		return nil
	}
	p.instance(&c.Instance)
	p.literal(`}`)
	if !p.done() {
		return nil
	}
	return &c
}

// Proposer orders commands and applies them (consensus.Node).
type Proposer interface {
	Propose(ctx context.Context, command []byte) (any, error)
}

// Propose encodes a command, has it applied and returns what came of it. Errors
// are those of [Encode], of the proposer, and the refusals of the state.
func Propose(ctx context.Context, p Proposer, c Command) (Result, error) {
	encoded, err := Encode(c)
	if err != nil {
		return Result{}, err
	}
	value, err := p.Propose(ctx, encoded)
	if err != nil {
		return Result{}, err
	}
	result, ok := value.(Result)
	if !ok {
		return Result{}, fmt.Errorf("the command %s came to a %s", c.tag(), reflect.TypeOf(value))
	}
	return result, nil
}

// checkKey refuses the bytes that separate the parts of keys.
func checkKey(what string, parts ...string) error {
	for _, p := range parts {
		if strings.ContainsRune(p, 0) {
			return wire.BadRequest(what + " has a zero byte")
		}
	}
	return nil
}

// checkService refuses a service that cannot be.
func checkService(k wire.ServiceKey) error {
	if k.Namespace == "" {
		return wire.BadRequest("a service without a namespace")
	}
	if err := checkKey("namespaceId", k.Namespace); err != nil {
		return err
	}
	name, err := wire.ParseServiceName(k.ServiceName.String(), "")
	if err == nil && name != k.ServiceName {
		err = wire.BadRequestf("Param 'serviceName' is illegal: %s", wire.Excerpt(k.ServiceName.String()))
	}
	return err
}

// checkObject refuses what is not a JSON object. Empty is left out.
func checkObject(what string, text json.RawMessage) error {
	if len(text) == 0 {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return wire.BadRequestf("%s is not a JSON object", what)
	}
	return nil
}

// sameJSON says whether two documents are the same but for white space; what was
// encoded and decoded is compact.
func sameJSON(a, b json.RawMessage) bool { return bytes.Equal(compact(a), compact(b)) }

func compact(text json.RawMessage) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return text
	}
	return b.Bytes()
}
