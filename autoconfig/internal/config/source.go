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

// readSource returns the document to read and the name it has in messages: text
// from code, the named file, the file of the environment, or what the search
// finds. Finding nothing is fine, a named file that is missing is not.
func readSource(s Sources) (name string, text []byte, ignored []string, err error) {
	if s.Text != "" {
		return "ConfigYAML", []byte(s.Text), nil, nil
	}
	file := s.File
	if file == "" {
		file = os.Getenv(EnvFile)
	}
	if file != "" {
		text, err = os.ReadFile(file)
		if err != nil {
			return "", nil, nil, fmt.Errorf("read the configuration: %w", err)
		}
		return file, text, nil, nil
	}
	for _, dir := range searchDirs {
		for _, base := range searchNames {
			candidate := filepath.Join(dir, base)
			found, err := os.ReadFile(candidate)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return "", nil, nil, fmt.Errorf("read the configuration: %w", err)
			case name == "":
				name, text = candidate, found
			default:
				ignored = append(ignored, candidate)
			}
		}
	}
	return name, text, ignored, nil
}

// searched names the places of the search for a log line.
func searched() string {
	return strings.Join(searchNames, " or ") + " in " + strings.Join(searchDirs, " and ")
}
