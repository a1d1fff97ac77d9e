package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/autoconfig"
	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/server"
	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/control"
)

// users is who keeps them: a registry over its API, or a data directory.
type users interface {
	Users(ctx context.Context) ([]adminclient.User, error)
	CreateUser(ctx context.Context, name, password string) error
	SetPassword(ctx context.Context, name, password string) error
	DeleteUser(ctx context.Context, name string) error
	AddRole(ctx context.Context, user, role string) error
	RemoveRole(ctx context.Context, user, role string) error
	// DeleteRole takes a role from everybody.
	DeleteRole(ctx context.Context, role string) error
	Permissions(ctx context.Context) ([]adminclient.Permission, error)
	AddPermission(ctx context.Context, p adminclient.Permission) error
	RemovePermission(ctx context.Context, p adminclient.Permission) error
}

func (c *cli) userCommand() *cobra.Command {
	cmd := family("user", "Manage users, on a data directory or over the API",
		c.userCreateCommand(), c.userPasswordCommand(), c.userGrantCommand(), c.userRevokeCommand(),
		c.userShowCommand(), c.userListCommand(), c.userDeleteCommand())
	cmd.Long = `Manages the users of a registry.

With --data-dir (or --config, which may name it) the users in that directory are
meant, whether a server runs on it or not: whoever can write there needs no
password, and that is how the first administrator is made. Otherwise the registry
at --server is asked, as an administrator.`
	return cmd
}

// dataFlags name a data directory.
type dataFlags struct {
	dir, config string
	// here means the directory that the server would take, where neither names one.
	here bool
}

func (f *dataFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "data-dir", "", "data `directory`")
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "YAML `file` of the server, which may name the data directory")
}

func (f *dataFlags) given() bool { return f.dir != "" || f.config != "" || f.here }

// onlyHere is for what is done where the server runs and never over the network:
// on the directory that was named, else on the one that the server takes, unless a
// registry was named in its place.
func (f *dataFlags) onlyHere(c *cli, flag string) error {
	if !f.given() && (len(c.connection.servers) > 0 || os.Getenv("ROLLCALL_SERVER") != "") {
		return usagef("an administrator is made where the server runs: %s needs --data-dir or --config, and no --server", flag)
	}
	f.here = true
	return nil
}

// path is the data directory: the flag's, else that of the server's settings.
func (f *dataFlags) path(cmd *cobra.Command) (string, error) {
	if f.dir != "" {
		return f.dir, nil
	}
	read, err := readConfig(&serverFlags{config: f.config}, cmd)
	if err != nil {
		return "", err
	}
	properties, err := autoconfig.Block[server.Properties](read)
	if err != nil {
		return "", err
	}
	if properties.Storage.InMemory {
		return "", usagef("the configuration keeps everything in memory; --data-dir names a directory")
	}
	return properties.Storage.Dir, nil
}

// withData runs f with the data of a directory.
func (c *cli) withData(cmd *cobra.Command, f *dataFlags, create bool, do func(context.Context, *control.Data) error) error {
	dir, err := f.path(cmd)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	if create && !control.Exists(dir) {
		fmt.Fprintf(c.err, "rollcall: makes the data directory %s\n", printable(dir))
	}
	data, err := control.Open(ctx, dir, create, c.logger())
	if err != nil {
		return errors.Join(err, giveBack(dir))
	}
	err = errors.Join(do(ctx, data), data.Close())
	if data.Running() {
		return err // it wrote, as itself
	}
	return errors.Join(err, giveBack(dir))
}

// withUsers runs f with the users that the flags name.
func (c *cli) withUsers(cmd *cobra.Command, f *dataFlags, create bool, do func(context.Context, users) error) error {
	if !f.given() {
		return c.withClient(cmd, func(ctx context.Context, client *adminclient.Client) error { return do(ctx, client) })
	}
	return c.withData(cmd, f, create, func(ctx context.Context, data *control.Data) error {
		return do(ctx, dataUsers{data})
	})
}

// credentials are printed once, when a password was made.
type credentials struct {
	User     string `json:"user"`
	Password string `json:"password,omitempty"`
}

// passwordFlags say where a new password comes from.
type passwordFlags struct{ stdin bool }

func (f *passwordFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.stdin, "password-stdin", false, "read the new password from standard input instead of making one")
}

// password returns a new password and whether it was made here.
func (f *passwordFlags) password(c *cli, user string) (password string, made bool, err error) {
	if !f.stdin {
		return auth.GeneratePassword(), true, nil
	}
	line, err := bufio.NewReader(io.LimitReader(c.in, 4<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", false, fmt.Errorf("read the password: %w", err)
	}
	password = strings.TrimRight(line, "\r\n")
	if err := auth.CheckPassword(user, password); err != nil {
		return "", false, usageError{err}
	}
	return password, false, nil
}

func (c *cli) showCredentials(sentence, user, password string, made bool) error {
	shown := credentials{User: user}
	if made {
		shown.Password = password
		sentence += "; the password, which is shown this once: " + password
	}
	return c.printer().done(sentence, shown)
}

func (c *cli) userCreateCommand() *cobra.Command {
	var data dataFlags
	var secret passwordFlags
	var admin bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a user, with a password that is made and shown once",
		Example: `  rollcall user create alice --admin
  rollcall user create alice --admin --data-dir /var/lib/rollcall
  rollcall user create bob --password-stdin < bob.secret`,
		Args: arguments("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if admin {
				if err := data.onlyHere(c, "--admin"); err != nil {
					return err
				}
			}
			if err := auth.CheckUserName(args[0]); err != nil {
				return usageError{err}
			}
			password, made, err := secret.password(c, args[0])
			if err != nil {
				return err
			}
			return c.withUsers(cmd, &data, true, func(ctx context.Context, u users) error {
				if err := u.CreateUser(ctx, args[0], password); err != nil {
					return err
				}
				sentence := "created the user " + args[0]
				if admin {
					if err := u.AddRole(ctx, args[0], auth.AdminRole); err != nil {
						return err
					}
					sentence = "created the administrator " + args[0]
				}
				return c.showCredentials(sentence, args[0], password, made)
			})
		},
	}
	data.add(cmd)
	secret.add(cmd)
	cmd.Flags().BoolVar(&admin, "admin", false, "may do everything")
	return cmd
}

func (c *cli) userPasswordCommand() *cobra.Command {
	var data dataFlags
	var secret passwordFlags
	cmd := &cobra.Command{
		Use:   "password NAME",
		Short: "Give a user a new password; tokens of the old one end",
		Args:  arguments("NAME"),

		ValidArgsFunction: c.completeUsers(&data),
		RunE: func(cmd *cobra.Command, args []string) error {
			password, made, err := secret.password(c, args[0])
			if err != nil {
				return err
			}
			return c.withUsers(cmd, &data, false, func(ctx context.Context, u users) error {
				if err := u.SetPassword(ctx, args[0], password); err != nil {
					return err
				}
				return c.showCredentials("changed the password of "+args[0], args[0], password, made)
			})
		},
	}
	data.add(cmd)
	secret.add(cmd)
	return cmd
}

func (c *cli) userDeleteCommand() *cobra.Command {
	var data dataFlags
	var force bool
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Remove a user with all roles; an administrator only with --force",
		Args:  arguments("NAME"),

		ValidArgsFunction: c.completeUsers(&data),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withUsers(cmd, &data, false, func(ctx context.Context, u users) error {
				user, err := findUser(ctx, u, args[0])
				if err != nil {
					return err
				}
				if slices.Contains(user.Roles, auth.AdminRole) {
					if !force {
						return fmt.Errorf("%s is an administrator; --force deletes it all the same", args[0])
					}
					if err := u.RemoveRole(ctx, args[0], auth.AdminRole); err != nil {
						return err
					}
				}
				if slices.Contains(user.Roles, ownRole(args[0])) {
					if err := dropRole(ctx, u, ownRole(args[0])); err != nil {
						return err
					}
				}
				if err := u.DeleteUser(ctx, args[0]); err != nil {
					return err
				}
				return c.printer().done("deleted the user "+args[0], credentials{User: args[0]})
			})
		},
	}
	data.add(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "delete an administrator, too")
	return cmd
}

func (c *cli) userListCommand() *cobra.Command {
	var data dataFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the users with their roles",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withUsers(cmd, &data, false, func(ctx context.Context, u users) error {
				all, err := u.Users(ctx)
				if err != nil {
					return err
				}
				if all == nil {
					all = []adminclient.User{}
				}
				return c.printer().list(all, []string{"USER", "ROLES"}, eachOf(all, func(x adminclient.User) row {
					return row{plain(x.Name), plain(strings.Join(x.Roles, ","))}
				}))
			})
		},
	}
	data.add(cmd)
	return cmd
}
