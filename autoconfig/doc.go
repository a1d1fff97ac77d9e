// Package autoconfig is the front door: it reads the configuration before there
// is a graph, decides by conditions which parts take part, and provides the gin
// engine, the web server, logger, metrics, events and the actuator.
//
//	func main() { autoconfig.Run(fx.Invoke(routes)) }
//
//	func routes(e *gin.Engine) {
//		e.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
//	}
//
// What it provides to the graph, each as far as its condition holds: *gin.Engine,
// *[WebServer], *[ManagementServer], *slog.Logger, *[Loggers], *prometheus.Registry (also as Registerer and
// Gatherer), *[EventBus] (also as registry.Publisher), *discovery.Client,
// *loadbalance.LoadBalancer, *loadbalance.HTTPClient, registry.ServiceRegistry,
// *registry.AutoServiceRegistration and the blocks of properties. fx.Decorate
// and fx.Replace exchange any of them. What it takes from the graph when it is
// there: health indicators, and a trace.TracerProvider of OpenTelemetry, which
// puts spans around requests and calls by name.
//
// Here belong assembly and the keys of the YAML file. Here does not belong
// behaviour: what a part does with its settings is in the part, which works
// without this package through its constructors.
package autoconfig
