package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/server"
)

// streams are those of the process.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// cli is what all commands share.
type cli struct {
	streams
	connection connection
	format     format
}

// Groups of commands in the help.
const (
	groupServer   = "server"
	groupRegistry = "registry"
	groupData     = "data"
)

func newCommand(s streams) *cobra.Command {
	c := &cli{streams: s, format: formatTable}
	var f serverFlags
	root := &cobra.Command{
		Use:   "rollcall",
		Short: "A service registry that speaks the Nacos 1.x protocol",
		Long: `rollcall is a service registry for clients of Nacos 1.x: registration, beats,
discovery and UDP push over HTTP v1, on port 8848 below /nacos. Without a command
it is the server.

` + exitCodes,
		Example: `  rollcall
  rollcall server --config server.yaml
  rollcall services --server 10.0.0.7:8848
  rollcall watch orders -o json`,
		Version:       server.Version(),
		Args:          knownCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          c.runServer(&f),
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetVersionTemplate("rollcall {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.Flags().SortFlags = false
	f.add(root)
	c.connection.add(root)
	root.PersistentFlags().VarP(&c.format, "output", "o", "form of what is printed: table, json or yaml")
	complete(root, "output", formats)
	root.AddGroup(
		&cobra.Group{ID: groupServer, Title: "The server:"},
		&cobra.Group{ID: groupRegistry, Title: "A registry over its API, of Rollcall or Nacos:"},
		&cobra.Group{ID: groupData, Title: "Users and data:"},
	)
	inGroup := func(id string, commands ...*cobra.Command) {
		for _, cmd := range commands {
			cmd.GroupID = id
			root.AddCommand(cmd)
		}
	}
	inGroup(groupServer, c.serverCommand(), c.configCommand())
	inGroup(groupRegistry, c.servicesCommand(), c.instancesCommand(), c.registerCommand(), c.deregisterCommand(),
		c.watchCommand(), c.healthCommand())
	inGroup(groupData, c.userCommand(), c.backupCommand(), c.restoreCommand(), c.importCommand())
	return root
}

// knownCommand refuses what is no command and says which may have been meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return usagef("unknown command %q", args[0])
}

// arguments accepts exactly the named ones.
func arguments(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%s is missing", names[len(args)])
		case len(args) > len(names):
			return usagef("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// family is a command that only holds others.
func family(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: knownCommand, RunE: func(cmd *cobra.Command, _ []string) error {
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		return usagef("%s what? %s", cmd.Name(), strings.Join(names, ", "))
	}}
	cmd.AddCommand(commands...)
	return cmd
}

// complete offers the values of a flag.
func complete(cmd *cobra.Command, flag string, values []string) {
	// It fails for a flag that is not there, which is a mistake of this package.
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}
