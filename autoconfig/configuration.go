package autoconfig

import (
	"cmp"
	"fmt"
	"log/slog"

	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
)

// Configuration is what the configuration of an application comes to, for those
// who want to look at it without running the application.
type Configuration struct {
	// File is the document that was read, "" when there was none.
	File string
	// Settings are all keys with their values and origins.
	Settings []EffectiveSetting
	// Warnings are what is not wrong and hardly meant, such as unknown keys.
	Warnings []string

	settings *settings
	blocks   []config.Block
}

// EffectiveSetting is a key with the value it has in the end.
type EffectiveSetting struct {
	// Key is the full key.
	Key string
	// Value is the value after all rules of reading; secrets are masked.
	Value string
	// Origin says where it was set: [OriginDefault], file and line, an environment
	// variable, an option.
	Origin string
}

// OriginDefault is the origin of a setting that nothing set.
const OriginDefault = "default"

// ReadConfiguration reads and checks the configuration as [New] does with the
// same options. Like there, the error is a *[ConfigError] when the configuration
// is at fault; it then comes with the configuration as far as it could be read.
func ReadConfiguration(opts ...fx.Option) (*Configuration, error) {
	var b boot
	b.collect(opts)
	s, loaded, err := b.read()
	if err != nil {
		return nil, err
	}
	c := &Configuration{File: loaded.File, settings: s, blocks: b.blocks}
	for _, e := range loaded.Effective() {
		c.Settings = append(c.Settings, EffectiveSetting{Key: e.Key, Value: e.Text(), Origin: cmp.Or(e.Origin, OriginDefault)})
	}
	for _, n := range loaded.Notes {
		if n.Level > slog.LevelInfo {
			c.Warnings = append(c.Warnings, n.String())
		}
	}
	return c, loaded.Err()
}

// Server returns the block server.
func (c *Configuration) Server() ServerProperties { return *c.settings.server }

// Management returns the block management.
func (c *Configuration) Management() ManagementProperties { return *c.settings.management }

// Block returns the block of an application or module that was given to
// [Properties], filled in.
func Block[T any](c *Configuration) (T, error) {
	for _, b := range c.blocks {
		if p, ok := b.Target.(*T); ok {
			return *p, nil
		}
	}
	var none T
	return none, fmt.Errorf("no block is read into a %T", none)
}
