package autoconfig

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/registry"
)

// The endpoint serviceregistry (A-R12), as Spring has it: GET is the declared
// status, POST {"status":"DOWN"} declares another. What is declared is known
// here, so that an instance that was set DOWN does not answer that it is unknown.

func (a *actuator) status(c *gin.Context) {
	if a.inside.registration == nil {
		say(c, http.StatusNotFound, noRegistration)
		return
	}
	status := registry.StatusDown
	if a.inside.registration.Registration().Enabled {
		status = registry.StatusUp
	}
	say(c, http.StatusOK, string(status))
}

func (a *actuator) setStatus(c *gin.Context) {
	if a.inside.registration == nil {
		say(c, http.StatusNotFound, noRegistration)
		return
	}
	var wanted struct {
		Status *string `json:"status"`
	}
	if !ask(c, &wanted) {
		return
	}
	status := registry.Status("")
	if wanted.Status != nil {
		status = registry.Status(strings.ToUpper(strings.TrimSpace(*wanted.Status)))
	}
	if status != registry.StatusUp && status != registry.StatusDown {
		say(c, http.StatusBadRequest, `the status must be one of UP, DOWN: {"status":"DOWN"}`)
		return
	}
	if err := a.inside.registration.SetStatus(c.Request.Context(), status); err != nil {
		say(c, http.StatusServiceUnavailable, err.Error())
		return
	}
	c.Header("Cache-Control", "no-store")
	c.Status(http.StatusOK)
}

const noRegistration = "this application does not register itself"
