package autoconfig

import (
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// The endpoint loggers, as Spring has it: GET shows the levels, POST
// {"configuredLevel":"DEBUG"} to a name changes one, null takes it away.

func (a *actuator) levels(c *gin.Context) {
	reply(c, http.StatusOK, gin.H{"levels": levelNames, "loggers": a.loggers.Levels()})
}

func (a *actuator) level(c *gin.Context) {
	name := c.Param("name")
	if strings.EqualFold(name, loggerRoot) {
		name = loggerRoot
	}
	level, found := a.loggers.Levels()[name]
	if !found {
		a.noLogger(c)
		return
	}
	reply(c, http.StatusOK, level)
}

func (a *actuator) setLevel(c *gin.Context) {
	var wanted struct {
		Level *string `json:"configuredLevel"`
	}
	if !ask(c, &wanted) {
		return
	}
	level := ""
	if wanted.Level != nil {
		level = *wanted.Level
	}
	switch err := a.loggers.SetLevel(c.Param("name"), level); {
	case errors.Is(err, ErrNoLogger):
		a.noLogger(c)
	case err != nil:
		say(c, http.StatusBadRequest, err.Error())
	default:
		c.Status(http.StatusNoContent)
	}
}

func (a *actuator) noLogger(c *gin.Context) {
	say(c, http.StatusNotFound, "there is no such logger, known are "+strings.Join(a.loggers.names(), ", "))
}
