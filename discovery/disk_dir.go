package discovery

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/registry"
)

const (
	// leftover is the pattern of [os.CreateTemp] for a file that is being written.
	leftover = ".list-*.tmp"
	// leftoverAge is after which such a file belongs to nobody: writing one takes
	// moments, and another process may be at it.
	leftoverAge = time.Hour
)

// DefaultDir returns where the lists of a namespace of one registry belong: the
// folder nacos/naming/<namespace>-<hash> in the user's cache folder. The hash is of
// the registry's addresses (its servers, or its address server) in any order and
// case, so that the applications of one user that know the same registry share
// what it said, and those of two registries never do. A registry whose addresses
// change has a new folder. "" is the namespace "public". It fails where the user
// has no cache folder.
func DefaultDir(namespace string, addresses ...string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for the lists of services: %w", err)
	}
	id := registry.ServiceID{Namespace: namespace}.Normalize()
	names := make([]string, len(addresses))
	for n, address := range addresses {
		names[n] = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(address), "/"))
	}
	slices.Sort(names)
	hash := sum([]byte(strings.Join(slices.Compact(names), ",")))[:8]
	return filepath.Join(base, "nacos", "naming", shorten(url.QueryEscape(id.Namespace))+"-"+hash), nil
}

// sweep removes what a process that was killed while it wrote a list has left in
// the folder.
func (d *disk) sweep(now time.Time) {
	items, err := os.ReadDir(d.dir)
	if err != nil {
		return // there is none yet; what else is wrong with it shows when it is used
	}
	for _, item := range items {
		if ours, _ := filepath.Match(leftover, item.Name()); !ours || !item.Type().IsRegular() {
			continue
		}
		info, err := item.Info()
		if err != nil || now.Sub(info.ModTime()) < leftoverAge {
			continue
		}
		path := filepath.Join(d.dir, item.Name())
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.logger.Warn("what is left of a list cannot be removed", slog.String("file", path), slog.Any("error", err))
		}
	}
}
