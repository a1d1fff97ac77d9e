package autoconfig

import (
	"errors"
	"strings"

	"go.uber.org/dig"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
)

// ConfigError is all that is wrong with a configuration. Its text has one problem
// a line, with full key, value and origin; secrets are masked.
type ConfigError = config.Error

// Problem is one mistake in a configuration.
type Problem = config.Problem

// rootCause takes the wrapping of the dependency graph off an error: what a
// constructor returned says more than the path that led to it.
func rootCause(err error) error {
	var graph dig.Error
	if errors.As(err, &graph) {
		return dig.RootCause(err)
	}
	return err
}

// explain is what Run prints about a failure.
func explain(err error) string {
	var b strings.Builder
	b.WriteString("application failed:\n")
	for line := range strings.SplitSeq(err.Error(), "\n") {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}
