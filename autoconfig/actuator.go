package autoconfig

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// mountActuator adds the exposed endpoints to the engine, after all routes of
// the application. A route of the application at the same place is an error.
func mountActuator(e *gin.Engine, p ManagementProperties, health *healthEndpoint, metrics prometheus.Gatherer) error {
	base := p.basePath()
	routes := map[string]gin.HandlerFunc{}
	if p.exposes(endpointHealth) {
		routes[base+"/health"] = func(c *gin.Context) { answer(c, health.all(c.Request.Context())) }
		routes[base+"/health/liveness"] = func(c *gin.Context) { answer(c, health.liveness()) }
		routes[base+"/health/readiness"] = func(c *gin.Context) { answer(c, health.readiness(c.Request.Context())) }
	}
	if p.exposes(endpointPrometheus) {
		routes[base+"/prometheus"] = gin.WrapH(promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	}
	for path, handler := range routes {
		if err := addRoute(e, path, handler); err != nil {
			return err
		}
	}
	return nil
}

// addRoute turns gin's panic about a taken path into an error.
func addRoute(e *gin.Engine, path string, handler gin.HandlerFunc) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("actuator: the application has a route in the way of GET %s; move it, or set management.endpoints.base-path (gin: %v)", path, r)
		}
	}()
	e.Match([]string{http.MethodGet, http.MethodHead}, path, handler)
	return nil
}

func answer(c *gin.Context, r healthReport) {
	status := http.StatusOK
	if r.Status == HealthDown || r.Status == HealthOutOfService {
		status = http.StatusServiceUnavailable
	}
	c.Header("Cache-Control", "no-store")
	c.JSON(status, r)
}
