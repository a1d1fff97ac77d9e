package autoconfig

// moduleOTLP is what an application needs to have the keys of tracing read.
const moduleOTLP = "otlp.Module of autoconfig/otlp, which reads this key"

// foreignKeys are keys of Spring, its Alibaba parts, Ribbon and Eureka that
// documents bring along and that are named otherwise here, without the leading
// "spring.". Those that merely have no meaning here are unknown like any other.
func foreignKeys() map[string]string {
	return map[string]string{
		"server.servlet.context-path":                           "server.context-path",
		"lifecycle.timeout-per-shutdown-phase":                  "server.shutdown-timeout",
		"main.web-application-type":                             "server.port: -1 is none",
		"logging.level.root":                                    "logging.level",
		"management.endpoints.web.base-path":                    "management.endpoints.base-path",
		"management.endpoints.web.exposure.include":             "management.endpoints.exposure",
		"cloud.discovery.client.simple.order":                   "cloud.discovery.client.order",
		"cloud.discovery.client.health-indicator.enabled":       "management.health.discovery-client.enabled",
		"cloud.nacos.discovery.graceful-shutdown-wait-time":     "cloud.service-registry.auto-registration.drain",
		"management.server.base-path":                           "management.server.context-path",
		"management.server.servlet.context-path":                "management.server.context-path",
		"management.endpoint":                                   "management.endpoints.exposure",
		"management.tracing":                                    moduleOTLP,
		"management.otlp.tracing":                               moduleOTLP,
		"cloud.loadbalancer.cache":                              "",
		"cloud.loadbalancer.call-get-with-request-on-delegates": "",
		"cloud.loadbalancer.stats.micrometer.enabled":           "cloud.loadbalancer.stats.enabled",
		"cloud.inetutils.timeout-seconds":                       "",
		"cloud.discovery.blocking.enabled":                      "cloud.discovery.enabled",
		"cloud.discovery.reactive.enabled":                      "cloud.discovery.enabled",
		"cloud.discovery.client.simple.local":                   "",
		"cloud.nacos.discovery.naming-client-beat-thread-count": "",
		"cloud.nacos.discovery.naming-polling-thread-count":     "",
		"ribbon": "cloud.loadbalancer",
		"eureka": "cloud.nacos",
	}
}
