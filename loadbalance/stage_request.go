package loadbalance

import (
	"net/http"

	"github.com/rollcall-go/rollcall/registry"
)

// MetadataHint is the metadata key that a call's hint is compared with.
const MetadataHint = "hint"

// hintStage prefers the instances tagged with the call's hint: the header's,
// else the configured one. A call without any has the hint "default", as in
// Spring.
func hintStage(header, configured string) Stage {
	header = http.CanonicalHeaderKey(header)
	if configured == "" {
		configured = "default"
	}
	return RequestStage(StageHint,
		func(r *Request) string {
			if hint := r.header(header); hint != "" {
				return hint
			}
			return configured
		},
		func(i *registry.Instance) string { return i.Metadata[MetadataHint] },
		false)
}

// stickyStage prefers the instance that the cookie names.
func stickyStage(cookie string) Stage {
	return RequestStage(StageSticky,
		func(r *Request) string {
			id, _ := r.Cookie(cookie)
			return id
		},
		instanceID,
		false)
}

// sameInstanceStage prefers the instance that was chosen last while it is in the
// list. It is the same as long as its address is, whatever its metadata.
func sameInstanceStage() Stage {
	return Stage{name: StageSameInstance, rank: rankPreferred, split: &split{
		of: func(i *registry.Instance) (splitKey, bool) { return splitKey{text: instanceID(i)}, true },
		asked: func(v *view, _ *Request) (splitKey, bool, error) {
			last := v.state.last.Load()
			if last == nil {
				return splitKey{}, false, nil
			}
			return splitKey{text: last.id}, true, nil
		},
		lax: true,
	}}
}
