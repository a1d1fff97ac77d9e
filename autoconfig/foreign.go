package autoconfig

// foreignKeys are keys of Spring, its Alibaba parts, Ribbon and Eureka that
// documents bring along and that are named otherwise here, without the leading
// "spring.". Those that merely have no meaning here are unknown like any other.
func foreignKeys() map[string]string {
	return map[string]string{
		"server.servlet.context-path":                       "server.context-path",
		"lifecycle.timeout-per-shutdown-phase":              "server.shutdown-timeout",
		"main.web-application-type":                         "server.port: -1 is none",
		"logging.level.root":                                "logging.level",
		"management.endpoints.web.base-path":                "management.endpoints.base-path",
		"management.endpoints.web.exposure.include":         "management.endpoints.exposure",
		"cloud.discovery.client.simple.order":               "cloud.discovery.client.order",
		"cloud.discovery.client.health-indicator.enabled":   "management.health.discovery-client.enabled",
		"cloud.nacos.discovery.graceful-shutdown-wait-time": "cloud.service-registry.auto-registration.drain",
		"ribbon": "cloud.loadbalancer",
		"eureka": "cloud.nacos",
	}
}
