package control

import (
	"os"
	"path/filepath"
)

// socketName is the socket's name in the data directory.
const socketName = "control.sock"

// Paths of the socket.
const (
	backupPath   = "/backup"
	commandsPath = "/commands"
)

// socketPath is the shorter of the absolute and the relative path to the socket:
// a socket's path has little more than a hundred bytes.
func socketPath(dir string) string {
	path := filepath.Join(dir, socketName)
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	here, err := os.Getwd()
	if err != nil {
		return absolute
	}
	relative, err := filepath.Rel(here, absolute)
	if err != nil || len(absolute) <= len(relative) {
		return absolute
	}
	return relative
}
