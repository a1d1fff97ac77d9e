package autoconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/fx"
)

// actuator answers the operator's questions.
type actuator struct {
	management ManagementProperties
	health     *healthEndpoint
	inside     *inside
	loggers    *Loggers
	reloader   *reloader
	metrics    prometheus.Gatherer
}

type actuatorParams struct {
	fx.In

	Management ManagementProperties
	Registrar  *registrar
	Indicators []HealthIndicator `group:"health.indicators"`
	Inside     *inside
	Loggers    *Loggers
	Reloader   *reloader
	Metrics    prometheus.Gatherer
}

func newActuator(p actuatorParams) (*actuator, error) {
	health, err := newHealthEndpoint(p.Registrar, p.Indicators)
	return &actuator{
		management: p.Management, health: health, inside: p.Inside,
		loggers: p.Loggers, reloader: p.Reloader, metrics: p.Metrics,
	}, err
}

// endpointRoute is one way to ask an endpoint.
type endpointRoute struct {
	endpoint, method, path string
	handle                 gin.HandlerFunc
}

func (a *actuator) routes() []endpointRoute {
	return []endpointRoute{
		{endpointHealth, http.MethodGet, "/health", func(c *gin.Context) { answer(c, a.health.all(c.Request.Context())) }},
		{endpointHealth, http.MethodGet, "/health/liveness", func(c *gin.Context) { answer(c, a.health.liveness()) }},
		{endpointHealth, http.MethodGet, "/health/readiness", func(c *gin.Context) { answer(c, a.health.readiness(c.Request.Context())) }},
		{endpointServiceRegistry, http.MethodGet, "/serviceregistry", a.status},
		{endpointServiceRegistry, http.MethodPost, "/serviceregistry", a.setStatus},
		{endpointNacosDiscovery, http.MethodGet, "/nacosdiscovery", a.nacosDiscovery},
		{endpointDiscovery, http.MethodGet, "/discovery", a.discovery},
		{endpointLoadBalancer, http.MethodGet, "/loadbalancer", a.loadBalancer},
		{endpointConfigProps, http.MethodGet, "/configprops", a.configProps},
		{endpointMetrics, http.MethodGet, "/metrics", a.metricNames},
		{endpointMetrics, http.MethodGet, "/metrics/:name", a.metric},
		{endpointLoggers, http.MethodGet, "/loggers", a.levels},
		{endpointLoggers, http.MethodGet, "/loggers/:name", a.level},
		{endpointLoggers, http.MethodPost, "/loggers/:name", a.setLevel},
		{endpointPrometheus, http.MethodGet, "/prometheus", gin.WrapH(promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{}))},
	}
}

// mount adds the exposed endpoints to an engine, after all routes of the
// application. A route of the application at the same place is an error.
func (a *actuator) mount(e *gin.Engine) error {
	base, exposed := a.management.basePath(), a.management.Endpoints.Exposed()
	for _, r := range a.routes() {
		if !slices.Contains(exposed, r.endpoint) {
			continue
		}
		if err := addRoute(e, r.method, base+r.path, r.handle); err != nil {
			return err
		}
	}
	return nil
}

// serves reports whether a request is one to the actuator.
func (a *actuator) serves(r *http.Request) bool {
	base := a.management.basePath()
	return base != "" && (r.URL.Path == base || strings.HasPrefix(r.URL.Path, base+"/"))
}

// addRoute turns gin's panic about a taken path into an error.
func addRoute(e *gin.Engine, method, path string, handler gin.HandlerFunc) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("actuator: the application has a route in the way of %s %s; move it, or set management.endpoints.base-path (gin: %v)", method, path, r)
		}
	}()
	methods := []string{method}
	if method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	e.Match(methods, path, plain, handler)
	return nil
}

// plain keeps browsers from taking an answer for anything but what it says it is.
func plain(c *gin.Context) { c.Header("X-Content-Type-Options", "nosniff") }

func answer(c *gin.Context, r healthReport) {
	status := http.StatusOK
	if r.Status == HealthDown || r.Status == HealthOutOfService {
		status = http.StatusServiceUnavailable
	}
	reply(c, status, r)
}

// reply answers with JSON that nobody keeps.
func reply(c *gin.Context, status int, body any) {
	c.Header("Cache-Control", "no-store")
	c.JSON(status, body)
}

// say answers with plain text.
func say(c *gin.Context, status int, text string) {
	c.Header("Cache-Control", "no-store")
	c.String(status, "%s", text)
}

// maxActuatorBody is more than any request to the actuator holds.
const maxActuatorBody = 64 << 10

// ask reads the JSON body of a request; false when it was answered already.
func ask(c *gin.Context, into any) bool {
	if kind, _, err := mime.ParseMediaType(c.GetHeader("Content-Type")); err != nil || !isJSON(kind) {
		say(c, http.StatusUnsupportedMediaType, "the body must be JSON, and Content-Type say so: application/json")
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxActuatorBody))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		say(c, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body must be JSON of at most %d bytes", maxActuatorBody))
		return false
	}
	if err != nil {
		say(c, http.StatusBadRequest, "the body cannot be read") // the cause is about connections
		return false
	}
	if err := json.Unmarshal(body, into); err != nil {
		say(c, http.StatusBadRequest, "the body must be JSON: "+err.Error())
		return false
	}
	return true
}

// isJSON reports whether a media type is JSON's. A page of another site cannot
// have a browser send one without asking, which the actuator does not allow.
func isJSON(kind string) bool {
	return kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}
