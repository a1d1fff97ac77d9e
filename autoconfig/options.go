package autoconfig

import (
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/gin-gonic/gin"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/loadbalance"
	"github.com/rollcall-go/rollcall/registry"
)

// boot is what the options of this package say, collected before the graph.
type boot struct {
	sources  config.Sources
	blocks   []config.Block
	declared []func(*boot)      // the blocks of the user's, to be read again
	lives    []liveBlock        // the same blocks, in the same order
	supplies []func() fx.Option // after the blocks are decoded
	engine   *gin.Engine
	listener net.Listener
	// management is the listener of the management server.
	management net.Listener
	logger     *slog.Logger
	logThrough func(slog.Handler) (slog.Handler, func())
	registry   registry.ServiceRegistry
	own        []discovery.Source
	stages     []loadbalance.Stage
	host       *host // nil is this one
	plain      []fx.Option
	errs       []error // options that cannot be meant
}

func (b *boot) fail(text string) { b.errs = append(b.errs, errors.New(text)) }

// bootOption is an fx.Option that New takes out of the list. Where it is applied
// all the same, it was hidden in an option of fx and would have no effect: the
// embedded option turns that into an error.
type bootOption struct {
	fx.Option
	apply func(*boot)
}

func newBootOption(name string, apply func(*boot)) fx.Option {
	hidden := fmt.Errorf("autoconfig.%s has no effect inside fx.Options or fx.Module: give it to autoconfig.New or autoconfig.Run, or group with autoconfig.Options", name)
	return bootOption{fx.Error(hidden), apply}
}

// Options groups options of this package with options of fx, as fx.Options does
// for the latter alone. A module that brings its own properties is one of these.
func Options(opts ...fx.Option) fx.Option {
	return newBootOption("Options", func(b *boot) { b.collect(opts) })
}

func (b *boot) collect(opts []fx.Option) {
	for _, o := range opts {
		if own, ok := o.(bootOption); ok {
			own.apply(b)
			continue
		}
		b.plain = append(b.plain, o)
	}
}

// ConfigFile names the YAML file. Without it, the environment variable
// ROLLCALL_CONFIG does, else application.yaml or application.yml in the working
// directory or in its folder config is read when it exists. The last one counts.
func ConfigFile(path string) fx.Option {
	return newBootOption("ConfigFile", func(b *boot) { b.sources.File, b.sources.Text = path, "" })
}

// ConfigYAML is the YAML document itself, in place of a file.
func ConfigYAML(text string) fx.Option {
	return newBootOption("ConfigYAML", func(b *boot) { b.sources.Text = text })
}

// Property sets a key above everything else, for command line flags (see
// [PropertyFrom]) and tests.
// A value is text as the YAML file would hold it, or the Go value itself. A key
// may end inside a map, as cloud.nacos.discovery.metadata.zone does.
func Property(key string, value any) fx.Option {
	return newBootOption("Property", func(b *boot) {
		b.sources.Properties = append(b.sources.Properties, config.Setting{Key: key, Value: value})
	})
}

// PropertyFrom is [Property] for a value that has been given somewhere, such as
// with a flag of the command line: problems and origins name origin, "--port", so
// that whoever gave the value finds it again.
func PropertyFrom(origin, key string, value any) fx.Option {
	return newBootOption("PropertyFrom", func(b *boot) {
		b.sources.Properties = append(b.sources.Properties, config.Setting{Key: key, Value: value, Origin: origin})
	})
}

// Default sets a key below the file and the environment, and above the defaults
// of this package: what an application or module of this kind usually wants.
func Default(key string, value any) fx.Option {
	return newBootOption("Default", func(b *boot) {
		b.sources.Defaults = append(b.sources.Defaults, config.Setting{Key: key, Value: value})
	})
}

// Properties reads the block of keys below prefix into a T, by the same rules as
// the blocks of this package, and provides it to the graph as T, and as *[Live] of T
// for who wants to have what a reload changes. defaults holds the defaults. Keys are the fields' names in kebab-case or their mapstructure
// tags; nested structs are nested blocks.
//
// When *T has a method Validate() error, each line of its error is reported with
// all other mistakes of the configuration; a line begins with the key below the
// prefix and a colon, as in "sender.port: must be above 0", and gets the full
// key, the value and its origin added.
func Properties[T any](prefix string, defaults T) fx.Option {
	return newBootOption("Properties", func(b *boot) {
		declare := func(b *boot) { live(b, prefix, properties(b, prefix, defaults)) }
		b.declared = append(b.declared, declare)
		declare(b)
	})
}

// properties adds a block and has it supplied to the graph. The target holds the
// values once the configuration is loaded.
func properties[T any](b *boot, prefix string, defaults T) *T {
	target := &defaults
	b.blocks = append(b.blocks, config.Block{Prefix: prefix, Target: target})
	b.supplies = append(b.supplies, func() fx.Option {
		return fx.Provide(func() T { return *target })
	})
	return target
}

// Engine serves with an engine of the application's own, as it is: its mode,
// middlewares and routes. Only the actuator's routes are added.
func Engine(e *gin.Engine) fx.Option {
	return newBootOption("Engine", func(b *boot) {
		if b.engine = e; e == nil {
			b.fail("autoconfig.Engine: the engine is nil")
		}
	})
}

// Listener serves on a listener of the application's own, for socket activation
// and tests. server.address and server.port then play no part.
func Listener(l net.Listener) fx.Option {
	return newBootOption("Listener", func(b *boot) {
		if b.listener = l; l == nil {
			b.fail("autoconfig.Listener: the listener is nil")
		}
	})
}

// ManagementListener serves the actuator on a listener of the application's own,
// as [Listener] does for the web server.
func ManagementListener(l net.Listener) fx.Option {
	return newBootOption("ManagementListener", func(b *boot) {
		if b.management = l; l == nil {
			b.fail("autoconfig.ManagementListener: the listener is nil")
		}
	})
}

// Logger logs to a logger of the application's own; the block logging then plays
// no part. fx.Replace and fx.Decorate do the same.
func Logger(l *slog.Logger) fx.Option {
	return newBootOption("Logger", func(b *boot) {
		if b.logger = l; l == nil {
			b.fail("autoconfig.Logger: the logger is nil")
		}
	})
}

// LogThrough puts a handler of the application's or a module's own around the one
// that writes its log, whichever that is, so that it sees all there is to write:
// to leave out, to count, or not to wait for a slow target. wrap is called once
// for each application. What it returns besides is called when everything else
// has ended; that which is logged later comes all the same. The last one counts.
func LogThrough(wrap func(slog.Handler) (through slog.Handler, end func())) fx.Option {
	return newBootOption("LogThrough", func(b *boot) {
		if b.logThrough = wrap; wrap == nil {
			b.fail("autoconfig.LogThrough: the function is nil")
		}
	})
}

// Stages are further ones that cloud.loadbalancer.chain may name, by their order
// among those of package loadbalance. They are given here and not to the graph,
// since the configuration is validated before there is one.
func Stages(stages ...loadbalance.Stage) fx.Option {
	return newBootOption("Stages", func(b *boot) { b.stages = append(b.stages, stages...) })
}

// Backend registers and looks up with a registry of the application's own in
// place of Nacos, such as registry/memory with discovery/memory in one process.
// The registry is not closed with the application, the sources are. A nil
// registry only looks up. The keys below cloud.nacos.discovery that describe
// the instance apply all the same.
func Backend(r registry.ServiceRegistry, sources ...discovery.Source) fx.Option {
	return newBootOption("Backend", func(b *boot) { b.registry, b.own = r, append(b.own, sources...) })
}

func (b *boot) ownBackend() bool { return b.registry != nil || len(b.own) > 0 }

// backend provides what Backend gave.
func (b *boot) backend() fx.Option {
	var opts []fx.Option
	if b.registry != nil {
		opts = append(opts, fx.Provide(func() registry.ServiceRegistry { return b.registry }))
	}
	for _, source := range b.own {
		opts = append(opts, fx.Provide(fx.Annotate(func() discovery.Source { return source }, fx.ResultTags(`group:"discovery.sources"`))))
	}
	return fx.Options(opts...)
}
