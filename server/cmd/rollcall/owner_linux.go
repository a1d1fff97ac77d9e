package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// giveBack gives what root wrote into a data directory to whom the directory
// belongs: a server that runs as that user could not open it otherwise. Only plain
// files with one name, and directories, are given away, and nothing outside the
// directory, so that nobody is given a file that was linked there.
func giveBack(dir string) (err error) {
	if os.Geteuid() != 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the owner of the data directory: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	info, err := root.Stat(".")
	if err != nil {
		return fmt.Errorf("look at the owner of the data directory: %w", err)
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !known || owner.Uid == 0 {
		return nil
	}
	return fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("give the data directory to its owner: %w", err)
		}
		info, err := root.Lstat(path)
		if err != nil {
			return fmt.Errorf("give the data directory to its owner: %w", err)
		}
		has, known := info.Sys().(*syscall.Stat_t)
		if !known || has.Uid != 0 || !info.IsDir() && (!info.Mode().IsRegular() || has.Nlink != 1) {
			return nil
		}
		if err := root.Lchown(path, int(owner.Uid), int(owner.Gid)); err != nil {
			return fmt.Errorf("give the data directory to its owner: %w", err)
		}
		return nil
	})
}
