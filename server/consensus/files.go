package consensus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rollcall-go/rollcall/internal/wholefile"
)

// Modes of what is in the data directory: it holds password hashes and keys.
const (
	directoryMode os.FileMode = 0o700
	fileMode      os.FileMode = 0o600
)

// operations are what the log does to files. Tests let them fail, or the process
// end between any two.
type operations struct {
	writeAt  func(f *os.File, p []byte, offset int64) error
	sync     func(f *os.File) error
	truncate func(f *os.File, size int64) error
	place    func(path string, content []byte) error // [placeFile]
	syncDir  func(dir string) error                  // [wholefile.SyncDirectory]
	remove   func(path string) error
}

func newOperations() *operations {
	return &operations{
		writeAt:  func(f *os.File, p []byte, offset int64) error { _, err := f.WriteAt(p, offset); return err },
		sync:     (*os.File).Sync,
		truncate: (*os.File).Truncate,
		place:    placeFile,
		syncDir:  wholefile.SyncDirectory,
		remove:   os.Remove,
	}
}

// replaceFile writes a file beside path, syncs it and renames it: after a crash
// there is the old content or the new one.
func replaceFile(path string, content []byte) error {
	if err := placeFile(path, content); err != nil {
		return err
	}
	return wholefile.SyncDirectory(filepath.Dir(path))
}

// placeFile is replaceFile up to the rename, which is not durable yet. After an
// error the file at path is as it was.
func placeFile(path string, content []byte) error {
	beside, err := os.OpenFile(path+unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), pathless(err))
	}
	_, err = beside.Write(content)
	return renameFile(beside, path, err)
}

// finishFile ends the writing of a file beside path, that went well unless err
// says otherwise, and puts it there.
func finishFile(beside *os.File, path string, err error) error {
	if err := renameFile(beside, path, err); err != nil {
		return err
	}
	return wholefile.SyncDirectory(filepath.Dir(path))
}

// renameFile is finishFile up to the rename.
func renameFile(beside *os.File, path string, err error) error {
	if err := wholefile.Place(beside, path, err); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), pathless(err))
	}
	return nil
}

// pathless takes the path from an error that clients get to see: where the data
// is concerns nobody but the operator.
func pathless(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	if e := (*os.LinkError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// removeUnfinished deletes what a crash left of files that were being written.
func removeUnfinished(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+unfinished))
	if err != nil {
		return fmt.Errorf("list unfinished files: %w", err)
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove an unfinished file: %w", err)
		}
	}
	return nil
}

// makeDirectory creates a directory and keeps others out of it.
func makeDirectory(path string) error {
	if err := os.MkdirAll(path, directoryMode); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	return nil
}
