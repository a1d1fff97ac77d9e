package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// EnvFile is the environment variable that names the file when the code names
// none.
const EnvFile = "ROLLCALL_CONFIG"

// searchDirs and searchNames are where a file is looked for when nothing names
// one; the first found is read.
var (
	searchDirs  = []string{".", "config"}
	searchNames = []string{"application.yaml", "application.yml"}
)

// foreignNames are the files that an application of Spring has beside those that
// are searched for, in the same places.
var foreignNames = []string{"bootstrap.yaml", "bootstrap.yml", "bootstrap.properties", "application.properties"}

// source is a document and what was found beside it.
type source struct {
	name    string // in messages, "" without a document
	text    []byte
	ignored []string // files that would have been read, were it not for this one
	foreign []string // files that only Spring reads
}

// readSource returns the document to read: text from code, the named file, the
// file of the environment, or what the search finds. Finding nothing is fine, a
// named file that is missing is not.
func readSource(s Sources) (found source, err error) {
	if s.Text != "" {
		return source{name: "ConfigYAML", text: []byte(s.Text)}, nil
	}
	file := s.File
	if file == "" {
		file = os.Getenv(EnvFile)
	}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return source{}, fmt.Errorf("read the configuration: %w", err)
		}
		return source{name: file, text: text}, nil
	}
	for _, dir := range searchDirs {
		for _, base := range searchNames {
			candidate := filepath.Join(dir, base)
			text, err := os.ReadFile(candidate)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return source{}, fmt.Errorf("read the configuration: %w", err)
			case found.name == "":
				found.name, found.text = candidate, text
			default:
				found.ignored = append(found.ignored, candidate)
			}
		}
		for _, base := range foreignNames {
			if candidate := filepath.Join(dir, base); isFile(candidate) {
				found.foreign = append(found.foreign, candidate)
			}
		}
	}
	return found, nil
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// searched names the places of the search for a log line.
func searched() string {
	return strings.Join(searchNames, " or ") + " in " + strings.Join(searchDirs, " and ")
}
