package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/internal/wholefile"
	"github.com/rollcall-go/rollcall/server/control"
	"github.com/rollcall-go/rollcall/server/state"
)

// content is what a backup holds.
type content struct {
	File       string `json:"file"`
	Bytes      int64  `json:"bytes,omitempty"`
	Namespaces int    `json:"namespaces"`
	Services   int    `json:"services"`
	Instances  int    `json:"instances"`
	Users      int    `json:"users"`
}

func contentOf(file string, v *state.View) content {
	return content{
		File: file, Namespaces: count(v.Namespaces()), Services: count(v.ServiceKeys()),
		Instances: v.InstanceCount(), Users: count(v.Users()),
	}
}

func count[T any](s iter.Seq[T]) (n int) {
	for range s {
		n++
	}
	return n
}

func (k content) String() string {
	return fmt.Sprintf("%s, %s, %s, %s", quantity(k.Namespaces, "namespace"), quantity(k.Services, "service"),
		quantity(k.Instances, "persistent instance"), quantity(k.Users, "user"))
}

func quantity(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (c *cli) backupCommand() *cobra.Command {
	var data dataFlags
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write all persistent data of a data directory to a file",
		Long: `Writes persistent instances, services, namespaces, users and settings to a file,
with all that was acknowledged before, whether a server runs on the data directory
or not. The file is read back and checked before it gets its name; - writes to
standard output, unchecked.

The backup holds the key that login tokens are signed with and the hashes of
passwords: only its owner can read the file, and it should stay so. Instances that
beat are not in it, as they register again by themselves.`,
		Example: "  rollcall backup --data-dir /var/lib/rollcall rollcall.backup",
		Args:    arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withData(cmd, &data, false, func(ctx context.Context, d *control.Data) error {
				if args[0] == "-" {
					return d.Backup(ctx, c.out)
				}
				made, err := writeBackup(ctx, d, args[0])
				if err != nil {
					return err
				}
				return c.printer().done(fmt.Sprintf("backed up to %s: %s", made.File, made), made)
			})
		},
	}
	data.add(cmd)
	return cmd
}

// writeBackup writes a backup beside its place, reads it back, and puts it there.
func writeBackup(ctx context.Context, d *control.Data, path string) (made content, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return content{}, err
	}
	made, err = writeChecked(ctx, d, f, path)
	return made, wholefile.Place(f, path, err)
}

// writeChecked writes a backup, that is to be at path, to a file and reads it back.
func writeChecked(ctx context.Context, d *control.Data, f *os.File, path string) (made content, err error) {
	if err := d.Backup(ctx, f); err != nil {
		return content{}, err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return content{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return content{}, err
	}
	view, err := control.ReadBackup(ctx, f)
	if err != nil {
		return content{}, fmt.Errorf("read the backup back: %w", err)
	}
	made = contentOf(path, view)
	made.Bytes = size
	return made, nil
}

func (c *cli) restoreCommand() *cobra.Command {
	var data dataFlags
	var force, check bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace all persistent data of a data directory by a backup",
		Long: `Reads a backup to its end, checks it, and only then replaces the data. No server
may run on the data directory. One that holds data already is replaced with
--force only. - reads standard input; --check only says what is in the backup.`,
		Args: arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := c.openBackup(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = in.Close() }() // it was only read
			if check {
				view, err := control.ReadBackup(cmd.Context(), in)
				if err != nil {
					return err
				}
				found := contentOf(args[0], view)
				return c.printer().done(fmt.Sprintf("%s is whole: %s", args[0], found), found)
			}
			dir, err := data.path(cmd)
			if err != nil {
				return err
			}
			switch exists := control.Exists(dir); {
			case exists && !force:
				return fmt.Errorf("%s holds data already; --force replaces it", dir)
			case !exists: // nor shall it, when something is wrong with the backup
				if _, err := control.ReadBackup(cmd.Context(), in); err != nil {
					return err
				}
				if _, err := in.Seek(0, io.SeekStart); err != nil {
					return err
				}
			}
			return c.withData(cmd, &dataFlags{dir: dir}, true, func(ctx context.Context, d *control.Data) error {
				if err := d.Restore(ctx, in); err != nil {
					return err
				}
				view, err := d.View(ctx)
				if err != nil {
					return err
				}
				restored := contentOf(args[0], view)
				return c.printer().done(fmt.Sprintf("restored to %s: %s", dir, restored), restored)
			})
		},
	}
	data.add(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "replace the data that is there")
	cmd.Flags().BoolVar(&check, "check", false, "only read the backup and say what is in it")
	return cmd
}

// openBackup opens a backup so that it can be read twice.
func (c *cli) openBackup(path string) (io.ReadSeekCloser, error) {
	in, from := io.NopCloser(c.in), "standard input"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if _, err := f.Seek(0, io.SeekCurrent); err == nil {
			return f, nil
		}
		in, from = f, path // a pipe that has a name
	}
	defer func() { _ = in.Close() }()                // it was only read
	f, err := os.CreateTemp("", "rollcall.backup.*") // mode 0600
	if err != nil {
		return nil, err
	}
	kept := temporary{f}
	if _, err := io.Copy(f, in); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", from, err), kept.Close())
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	return kept, nil
}

// temporary is a file that ends with its Close.
type temporary struct{ *os.File }

func (t temporary) Close() error { return errors.Join(t.File.Close(), os.Remove(t.Name())) }
