package autoconfig

import "github.com/rollcall-go/rollcall/autoconfig/internal/config"

// moduleOTLP is what an application needs to have the keys of tracing read.
const moduleOTLP = "otlp.Module of autoconfig/otlp, which reads this key"

// aliasKeys are keys of Spring and its Alibaba parts that mean the same as ours
// under another name, without the leading "spring.": they are read as ours.
func aliasKeys() map[string]config.Alias {
	return map[string]config.Alias{
		"server.servlet.context-path":                       {Key: "server.context-path"},
		"lifecycle.timeout-per-shutdown-phase":              {Key: "server.shutdown-timeout"},
		"logging.level.root":                                {Key: "logging.level"},
		"management.endpoints.web.base-path":                {Key: "management.endpoints.base-path"},
		"management.endpoints.web.exposure.include":         {Key: "management.endpoints.exposure"},
		"management.endpoints.web.exposure.exclude":         {Key: "management.endpoints.exclude"},
		"management.server.base-path":                       {Key: "management.server.context-path"},
		"management.server.servlet.context-path":            {Key: "management.server.context-path"},
		"cloud.discovery.client.health-indicator.enabled":   {Key: "management.health.discovery-client.enabled"},
		"cloud.inetutils.timeout-seconds":                   {Key: "cloud.inetutils.timeout", Unit: "s"},
		"cloud.loadbalancer.stats.micrometer.enabled":       {Key: "cloud.loadbalancer.stats.enabled"},
		"cloud.nacos.discovery.graceful-shutdown-wait-time": {Key: "cloud.service-registry.auto-registration.drain"},
	}
}

// foreignKeys are keys of Spring, its Alibaba parts, Ribbon and Eureka that
// documents bring along, that have no effect here, and that something else is
// there for, or nothing. Others are unknown like any other. [config.Sources] says
// what "spring." and "*" mean.
func foreignKeys() map[string]string {
	return map[string]string{
		"main.web-application-type":                             "server.port: -1 is none",
		"cloud.discovery.client.simple.order":                   "cloud.discovery.client.order",
		"management.endpoint":                                   "management.endpoints.exposure",
		"management.tracing":                                    moduleOTLP,
		"management.otlp.tracing":                               moduleOTLP,
		"cloud.loadbalancer.cache":                              "",
		"cloud.loadbalancer.call-get-with-request-on-delegates": "",
		"cloud.discovery.blocking.enabled":                      "cloud.discovery.enabled",
		"cloud.discovery.reactive.enabled":                      "cloud.discovery.enabled",
		"cloud.nacos.discovery.naming-client-beat-thread-count": "",
		"cloud.nacos.discovery.naming-polling-thread-count":     "",
		"cloud.nacos.config":                                    "",
		"management.endpoints.access":                           "management.endpoints.exposure",
		"management.endpoints.enabled-by-default":               "management.endpoints.exposure",
		"server.ssl.enabled":                                    "server.ssl.certificate",
		"server.ssl.key-store":                                  "server.ssl.certificate",
		"server.ssl.key-store-password":                         "server.ssl.certificate-private-key",
		"logging.level.*":                                       "logging.levels",
		"spring.profiles":                                       "ROLLCALL_CONFIG for another file, environment variables for single keys",
		"spring.config":                                         "ROLLCALL_CONFIG",
		"spring.application.json":                               "an environment variable for each key",
		"nacos.discovery":                                       "cloud.nacos.discovery",
		"ribbon":                                                "cloud.loadbalancer",
		"*.ribbon":                                              "cloud.loadbalancer.clients",
		"eureka":                                                "cloud.nacos",
		"feign":                                                 "",
		"hystrix":                                               "",
	}
}
