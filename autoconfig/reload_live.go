package autoconfig

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// deliver has the application's own blocks hold what was read, each swapped in one
// step, and then tells who follows them. It returns the keys that are in effect by
// that; those of a block that nobody follows wait for a restart.
func (r *reloader) deliver(again *boot, changed []string) (delivered []string, err error) {
	var tells []func() error
	for i, block := range r.boot.lives {
		if block.inUse() {
			if tell := block.adopt(again.lives[i]); tell != nil {
				tells = append(tells, tell)
			}
		}
	}
	var errs []error
	for _, tell := range tells {
		errs = append(errs, tell())
	}
	for _, key := range changed {
		if changeOf(key).how == nil && r.followed(key) {
			delivered = append(delivered, key)
		}
	}
	if err := errors.Join(errs...); err != nil {
		r.parts.logger.Error("a listener to the configuration failed", slog.Any("error", err))
		return delivered, fmt.Errorf("the new values are in effect: %w", err)
	}
	return delivered, nil
}

// ownBlocks are those of this package: who reads them as well follows them, but
// that alone does not put a key into effect.
var ownBlocks = []string{"application", "server", "management", "logging", "cloud"}

// followed reports whether a key is of a block that somebody follows.
func (r *reloader) followed(key string) bool {
	if first, _, _ := strings.Cut(key, "."); slices.Contains(ownBlocks, first) {
		return false
	}
	for _, block := range r.boot.lives {
		if strings.HasPrefix(key, block.prefix()+".") && block.inUse() {
			return true
		}
	}
	return false
}
