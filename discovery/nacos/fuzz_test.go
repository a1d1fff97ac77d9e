package nacos

import (
	"testing"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// FuzzRead has arbitrary datagrams read: whatever arrives, nothing panics, and
// only a list is taken for one.
func FuzzRead(f *testing.F) {
	list := wire.ServiceList{Name: "g@@s", Hosts: []wire.Host{{IP: "192.0.2.1", Port: 80, Metadata: map[string]string{"a": "b"}}}}
	data, err := list.MarshalJSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(wire.EncodePush(wire.Push{Type: wire.PushDom, Data: string(data), LastRefTime: 1}))
	f.Add(wire.EncodePush(wire.Push{Type: wire.PushService, Data: string(data) + string(make([]byte, 2000)), LastRefTime: 1}))
	f.Add([]byte(`{"type":"dump","lastRefTime":"12"}`))
	f.Add([]byte(`{"type":"dom","data":"{\"hosts\":[{\"port\":1e9,\"weight\":null}]}","lastRefTime":1.5}`))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Fuzz(func(t *testing.T, packet []byte) {
		list, ack, err := read(packet)
		switch {
		case err != nil:
			if list != nil {
				t.Fatal("a list and an error")
			}
			return
		case (list != nil) != (ack.Type == wire.AckPush):
			t.Fatalf("list %v acknowledged as %q", list, ack.Type)
		case list != nil && list.Hosts == nil:
			t.Fatal("no hosts taken for none")
		}
		if _, err := wire.DecodeAck(ack.Encode()); err != nil {
			t.Fatalf("unreadable acknowledgement: %v", err)
		}
		if list != nil {
			s := &Source{}
			_ = s.pushed(*list)
		}
	})
}
