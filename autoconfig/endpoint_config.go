package autoconfig

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/registry"
)

// propertyView is one key in the endpoint configprops.
type propertyView struct {
	// Value is what is in effect, secrets masked; Origin says where it was written.
	Value  any    `json:"value"`
	Origin string `json:"origin"`
	// Pending is what the configuration says since it was read again, where that
	// takes a restart.
	Pending any `json:"pending,omitempty"`
	// ShadowedBy says who sets otherwise what the key says of the registration.
	ShadowedBy registry.Layer `json:"shadowedBy,omitempty"`
}

// configProps shows every key with the value in effect and where that is from. Of
// the registration it says who sets otherwise.
func (a *actuator) configProps(c *gin.Context) {
	properties := map[string]propertyView{}
	pending := a.reloader.pending()
	var shadowed map[string]registry.Layer
	if r := a.inside.registration; r != nil {
		shadowed = r.Shadowed()
	}
	for _, p := range a.reloader.properties() {
		v := propertyView{Value: p.Shown(), Origin: p.Origin}
		if v.Origin == "" {
			v.Origin = "default"
		}
		if next, waits := pending[p.Key]; waits {
			v.Pending = next.Shown()
		}
		metadata, _ := p.Value.(map[string]string)
		v.ShadowedBy = shadowOf(partsOf(p.Key, metadata), shadowed)
		properties[p.Key] = v
	}
	reply(c, http.StatusOK, gin.H{"file": a.reloader.file(), "properties": properties})
}
