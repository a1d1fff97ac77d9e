package autoconfig

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// propertyView is one key in the endpoint configprops.
type propertyView struct {
	// Value is what is in effect, secrets masked; Origin says where it was written.
	Value  any    `json:"value"`
	Origin string `json:"origin"`
	// Pending is what the configuration says since it was read again, where that
	// takes a restart.
	Pending any `json:"pending,omitempty"`
}

// configProps shows every key with the value in effect and where that is from.
func (a *actuator) configProps(c *gin.Context) {
	properties := map[string]propertyView{}
	pending := a.reloader.pending()
	for _, p := range a.reloader.properties() {
		v := propertyView{Value: p.Shown(), Origin: p.Origin}
		if v.Origin == "" {
			v.Origin = "default"
		}
		if next, waits := pending[p.Key]; waits {
			v.Pending = next.Shown()
		}
		properties[p.Key] = v
	}
	reply(c, http.StatusOK, gin.H{"file": a.reloader.file(), "properties": properties})
}
