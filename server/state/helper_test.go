package state

import "github.com/rollcall-go/rollcall/internal/wire"

func service(name string) wire.ServiceKey {
	return wire.ServiceKey{Namespace: "public", ServiceName: wire.ServiceName{Group: "DEFAULT_GROUP", Name: name}}
}
