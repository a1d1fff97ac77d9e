package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// configs is the folder with what deploys rollcall.
const configs = "../../../configs"

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(strings.ReplaceAll(string(text), "\\\n", " "), "\n")
}

// requireCommandLine checks that a command line of rollcall is one: the command
// exists, and so do its flags.
func requireCommandLine(t *testing.T, args []string) *cobra.Command {
	t.Helper()
	root := newCommand(streams{nil, io.Discard, io.Discard})
	root.InitDefaultCompletionCmd(args...)
	cmd, rest, err := root.Find(args)
	require.NoError(t, err, args)
	require.NoError(t, cmd.ParseFlags(rest), args)
	require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), args)
	return cmd
}

func TestDockerfile_UsesWhatThereIs(t *testing.T) {
	var stages, copied []string
	known := map[string]bool{"/etc/ssl/certs/ca-certificates.crt": true} // golang's image has it
	last := map[string]string{}
	quoted := regexp.MustCompile(`"([^"]*)"`)
	list := func(text string) (words []string) {
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			words = append(words, m[1])
		}
		return words
	}
	for _, line := range lines(t, filepath.Join(configs, "Dockerfile")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if instruction == "" || strings.HasPrefix(instruction, "#") {
			continue
		}
		require.Contains(t, []string{
			"FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD",
		}, instruction)
		last[instruction] = rest
		words := strings.Fields(rest)
		switch instruction {
		case "FROM":
			stages = append(stages, words[0])
		case "COPY":
			sources := words[:len(words)-1]
			if !strings.HasPrefix(words[0], "--from=") {
				for _, source := range sources {
					require.FileExists(t, filepath.Join(configs, "..", source, map[bool]string{true: "go.mod"}[source == "."]))
				}
				break
			}
			copied = append(copied, sources[len(sources)-1])
			require.True(t, known[sources[len(sources)-1]], "%s is made by no RUN before", line)
		case "RUN":
			for i, word := range words {
				if strings.HasPrefix(word, "./") {
					require.DirExists(t, filepath.Join(configs, "..", word))
				}
				if strings.HasPrefix(word, "/out/") {
					known[words[i]] = true
				}
			}
		}
	}
	require.Len(t, stages, 2)
	require.Equal(t, "scratch", stages[1])
	gomod, err := os.ReadFile(filepath.Join(configs, "..", "go.mod"))
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(gomod))
	require.Equal(t, "golang:"+version[1], stages[0], "the Go version of go.mod")
	require.Equal(t, []string{"/etc/ssl/certs/ca-certificates.crt", "/out/rollcall", "/out/data"}, copied)
	require.NotContains(t, []string{"", "0", "root", "0:0"}, last["USER"])
	require.Equal(t, []string{"/rollcall"}, list(last["ENTRYPOINT"]))

	server := requireCommandLine(t, list(last["CMD"]))
	require.Equal(t, "server", server.Name())
	require.Equal(t, last["VOLUME"], server.Flags().Lookup("data-dir").Value.String())
	_, check, found := strings.Cut(last["HEALTHCHECK"], "CMD ")
	require.True(t, found)
	require.Equal(t, "/rollcall", list(check)[0])
	require.Equal(t, "health", requireCommandLine(t, list(check)[1:]).Name())
	require.Equal(t, "8848", last["EXPOSE"])
}

func TestSystemdUnit_StartsTheServer(t *testing.T) {
	settings := map[string]string{}
	section := regexp.MustCompile(`^\[(Unit|Service|Install)\]$`)
	for _, line := range lines(t, filepath.Join(configs, "rollcall.service")) {
		if line == "" || strings.HasPrefix(line, "#") || section.MatchString(line) {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		require.True(t, found, line)
		require.NotContains(t, settings, key, "twice")
		settings[key] = value
	}
	words := strings.Fields(settings["ExecStart"])
	require.Equal(t, "/usr/local/bin/rollcall", words[0])
	cmd := requireCommandLine(t, words[1:])
	require.Equal(t, "server", cmd.Name())
	require.Equal(t, "/var/lib/"+settings["StateDirectory"], cmd.Flags().Lookup("data-dir").Value.String())
	require.Equal(t, "/etc/rollcall/server.yaml", cmd.Flags().Lookup("config").Value.String())
	require.Equal(t, "SIGTERM", settings["KillSignal"])
	require.FileExists(t, filepath.Join(configs, "server.yaml"))
}

// TestOperations_NamesCommandsThatExist parses the command lines in
// docs/operations.md.
func TestOperations_NamesCommandsThatExist(t *testing.T) {
	count := 0
	shell := false
	for _, line := range lines(t, "../../../docs/operations.md") {
		if strings.HasPrefix(line, "```") {
			shell = line == "```sh"
			continue
		}
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		words := strings.Fields(line)
		for len(words) > 0 && (strings.Contains(words[0], "=") || words[0] == "sudo") {
			words = words[1:]
		}
		if !shell || len(words) == 0 || words[0] != "rollcall" {
			continue
		}
		for i, word := range words {
			if word == "<" || word == ">" || word == "|" {
				words = words[:i]
				break
			}
		}
		count++
		cmd := requireCommandLine(t, words[1:])
		require.NotEqual(t, "rollcall", cmd.Name(), line)
	}
	require.Greater(t, count, 10)
}

// Every command has a line and says what its flags do.
func TestCommands_AreAllDescribed(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			require.NotEmpty(t, f.Usage, "%s --%s", cmd.CommandPath(), f.Name)
		})
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newCommand(streams{nil, io.Discard, io.Discard}))
}
