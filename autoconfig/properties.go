package autoconfig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// ApplicationProperties is the block application.
type ApplicationProperties struct {
	// Name of the application, and of its service unless
	// cloud.nacos.discovery.service says otherwise. Required to register.
	Name string `mapstructure:"name"`
	// InstanceID stands for this process where one of a service is to be told from
	// the others; "" is host:name:port.
	InstanceID string `mapstructure:"instance-id"`
	// ReloadOnChange reads the configuration file again when it changed, on.
	// SIGHUP and [App.Reload] do so whatever it says.
	ReloadOnChange bool `mapstructure:"reload-on-change"`
}

// DefaultApplicationProperties returns the defaults of the block application.
func DefaultApplicationProperties() ApplicationProperties {
	return ApplicationProperties{ReloadOnChange: true}
}

// ShutdownMode says how the web server ends.
type ShutdownMode string

// The ways a web server ends.
const (
	// ShutdownGraceful accepts no new connections and lets requests finish, for
	// server.shutdown-timeout at most.
	ShutdownGraceful ShutdownMode = "graceful"
	// ShutdownImmediate closes all connections.
	ShutdownImmediate ShutdownMode = "immediate"
)

// ServerProperties is the block server: the web server.
type ServerProperties struct {
	// Address to listen on, an IP literal or host name; "" is all of them.
	Address string `mapstructure:"address"`
	// Port to listen on, 8080. 0 takes a free one, which is then the one that is
	// registered. -1 means no web server at all.
	Port int `mapstructure:"port"`
	// ContextPath is a prefix of all paths, actuator included: /shop. Handlers see
	// paths without it. "" and "/" mean none.
	ContextPath string `mapstructure:"context-path"`
	// Shutdown is graceful (default) or immediate.
	Shutdown ShutdownMode `mapstructure:"shutdown"`
	// LameDuck is how long a graceful shutdown goes on accepting and answering
	// before it stops to listen, 0s. Readiness is gone meanwhile, and every answer
	// closes its connection. It is for servers that are found by their readiness
	// or address; who registers has auto-registration.drain instead.
	LameDuck time.Duration `mapstructure:"lame-duck"`
	// ShutdownTimeout bounds the graceful shutdown after that, 20s. Deregistration, drain and
	// this together should fit what an orchestrator waits, usually 30s.
	ShutdownTimeout time.Duration `mapstructure:"shutdown-timeout"`
	// SSL switches TLS on.
	SSL SSLProperties `mapstructure:"ssl"`
}

// DefaultServerProperties returns the defaults of the block server.
func DefaultServerProperties() ServerProperties {
	return ServerProperties{Port: 8080, Shutdown: ShutdownGraceful, ShutdownTimeout: 20 * time.Second}
}

// Validate reports every value that cannot work.
func (p *ServerProperties) Validate() error {
	var errs []error
	if p.Port < -1 || p.Port > 65535 {
		errs = append(errs, errors.New("port: must be 0 to 65535, or -1 for no web server"))
	}
	errs = append(errs, listenAddress("address", p.Address))
	if p.Shutdown != ShutdownGraceful && p.Shutdown != ShutdownImmediate {
		errs = append(errs, errors.New("shutdown: must be graceful or immediate"))
	}
	if strings.ContainsAny(p.ContextPath, "?#*: ") {
		errs = append(errs, errors.New("context-path: must be a plain path such as /shop"))
	}
	errs = append(errs, positive("shutdown-timeout", p.ShutdownTimeout), notNegative("lame-duck", p.LameDuck), p.SSL.validate())
	return errors.Join(errs...)
}

// contextPath returns the context path with one leading and no trailing slash,
// "" for none.
func (p *ServerProperties) contextPath() string {
	return plainPath(p.ContextPath)
}

func plainPath(path string) string {
	trimmed := strings.Trim(path, "/")
	if trimmed == "" {
		return ""
	}
	return "/" + trimmed
}

// LoggingProperties is the block logging.
type LoggingProperties struct {
	// Level is debug, info (default), warn, error or off.
	Level string `mapstructure:"level"`
	// Levels are those of single loggers by name, where they differ: web, registry,
	// discovery, naming, loadbalancer, and the application's own; {}.
	Levels map[string]string `mapstructure:"levels"`
	// Format is text (default) or json.
	Format string `mapstructure:"format"`
}

// DefaultLoggingProperties returns the defaults of the block logging.
func DefaultLoggingProperties() LoggingProperties {
	return LoggingProperties{Level: "info", Format: "text"}
}

// Validate reports every value that cannot work.
func (p *LoggingProperties) Validate() error {
	var errs []error
	if _, err := parseLevel(p.Level); err != nil {
		errs = append(errs, fmt.Errorf("level: %w", err))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Levels)) {
		if _, err := parseLevel(p.Levels[name]); err != nil {
			errs = append(errs, fmt.Errorf("levels.%s: %w", name, err))
		}
	}
	if p.Format != "text" && p.Format != "json" {
		errs = append(errs, errors.New("format: must be text or json"))
	}
	return errors.Join(errs...)
}

// listenAddress is the rule of what is listened on: an IP address or a host name. What
// is neither would only be found out when it is looked up.
func listenAddress(key, address string) error {
	if _, err := wire.ParseIP(address); address != "" && err != nil {
		return fmt.Errorf("%s: must be an IP address or a host name", key)
	}
	return nil
}

// positive is the rule of a duration that must be more than nothing.
func positive(key string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s: must be more than 0", key)
	}
	return nil
}

// notNegative is the rule of a duration for which 0 has a meaning.
func notNegative(key string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s: must not be negative", key)
	}
	return nil
}
