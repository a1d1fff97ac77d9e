package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/server"
)

func (c *cli) configCommand() *cobra.Command {
	return family("config", "Look at the server's settings without running it", c.configCheckCommand(), c.configShowCommand())
}

func (c *cli) configCheckCommand() *cobra.Command {
	var f serverFlags
	var strict bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say whether the server would start with these settings",
		Long: `Reads the settings as the server would with the same flags and environment, says
what is wrong with them and what is hardly meant, such as a key that nothing
reads. The exit code is 1 when something is wrong, with --strict also when
something is hardly meant.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.checkConfig(cmd, &f, strict) },
	}
	cmd.Flags().SortFlags = false
	f.add(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "exit code 1 for warnings, too")
	return cmd
}

// verdict is what checking found.
type verdict struct {
	Valid    bool     `json:"valid"`
	File     string   `json:"file"`
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
}

func (c *cli) checkConfig(cmd *cobra.Command, f *serverFlags, strict bool) error {
	read, err := readConfig(f, cmd)
	if read == nil {
		return err
	}
	v := verdict{Valid: err == nil, File: fileOf(read), Problems: []string{}, Warnings: append([]string{}, read.Warnings...)}
	if misplaced := setOfServices(read); len(misplaced) > 0 {
		v.Warnings = append(v.Warnings, "settings of services that use a registry, they have no effect here: "+strings.Join(misplaced, ", "))
	}
	if err != nil {
		v.Problems = strings.Split(err.Error(), "\n")
	}
	printer := c.printer()
	if c.format != formatTable {
		if err := printer.document(v); err != nil {
			return err
		}
	} else {
		for _, problem := range v.Problems {
			printer.line(printer.coloured(red, "wrong  ") + " " + printable(problem))
		}
		for _, warning := range v.Warnings {
			printer.line(printer.coloured(yellow, "warning") + " " + printable(warning))
		}
		if v.Valid {
			printer.line("the configuration is valid: " + v.File)
		} else {
			printer.line(fmt.Sprintf("the configuration is not valid: %s", v.File))
		}
	}
	if !v.Valid || strict && len(v.Warnings) > 0 {
		return silentError(exitFailed)
	}
	return nil
}

// setOfServices are the keys that were set and that a server, which uses no
// registry, does not look at: those of a service's file that was taken for its own.
func setOfServices(read *autoconfig.Configuration) []string {
	var keys []string
	for _, s := range read.Settings {
		if strings.HasPrefix(s.Key, blockOfServices) && !isDefault(s) {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// blockOfServices begins the keys of services that use a registry.
const blockOfServices = "cloud."

func isDefault(s autoconfig.EffectiveSetting) bool {
	return s.Origin == autoconfig.OriginDefault || s.Origin == "default of the application"
}

// fileOf names what was read.
func fileOf(read *autoconfig.Configuration) string {
	if read.File == "" || read.File == "ConfigYAML" {
		return "defaults, environment and flags"
	}
	return read.File
}

// readConfig reads the settings as the server does. What could be read comes
// with an error that is about values.
func readConfig(f *serverFlags, cmd *cobra.Command) (*autoconfig.Configuration, error) {
	read, err := autoconfig.ReadConfiguration(f.options(cmd)...)
	if read == nil {
		return nil, err
	}
	admin, blockErr := autoconfig.Block[server.AdminProperties](read)
	if blockErr != nil {
		return nil, blockErr
	}
	properties, blockErr := autoconfig.Block[server.Properties](read)
	if blockErr != nil {
		return nil, blockErr
	}
	if err == nil {
		err = server.Check(read.Server(), read.Management(), admin, properties)
	}
	return read, err
}

func (c *cli) configShowCommand() *cobra.Command {
	var f serverFlags
	var all, changed bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show every setting with its value and where that comes from",
		Long: `Shows the settings as the server would see them with the same flags and
environment. Secrets are masked.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all && changed {
				return usagef("--all and --changed exclude each other")
			}
			read, err := readConfig(&f, cmd)
			if read == nil {
				return err
			}
			return errors.Join(c.showConfig(read, all, changed), err)
		},
	}
	cmd.Flags().SortFlags = false
	f.add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "show also what is about services that use a registry")
	cmd.Flags().BoolVar(&changed, "changed", false, "show only what is not a default")
	return cmd
}

// setting is a line of the list.
type setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func (c *cli) showConfig(read *autoconfig.Configuration, all, changed bool) error {
	settings := []setting{}
	for _, s := range read.Settings {
		foreign := strings.HasPrefix(s.Key, blockOfServices) || strings.HasPrefix(s.Key, "application.")
		if isDefault(s) && (changed || foreign && !all) {
			continue
		}
		source := s.Origin
		if isDefault(s) {
			source = autoconfig.OriginDefault
		}
		settings = append(settings, setting{s.Key, s.Value, source})
	}
	printer := c.printer()
	return printer.list(settings, []string{"KEY", "VALUE", "SOURCE"}, eachOf(settings, func(s setting) row {
		return row{plain(s.Key), plain(s.Value), plain(s.Source)}
	}))
}
