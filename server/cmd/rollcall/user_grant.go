package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/auth"
)

// everything stands for any text in the resource of a permission.
const everything = "*"

// actions are what a permission allows: reading, writing, both.
var actions = []string{string(auth.Read), string(auth.Write), string(auth.Read + auth.Write)}

// ownRole is the role that holds what was granted to one user: permissions belong
// to roles, and nobody else is to have these.
func ownRole(user string) string { return "user:" + user }

// grantFlags say what is granted or revoked.
type grantFlags struct {
	namespace, group, service string
	switches                  bool
	role                      string
}

// grantOf are the flags that describe a permission, those that exclude --role.
var grantOf = []string{"namespace", "group", "service", "switches"}

func (f *grantFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", wire.PublicNamespace, "id of the namespace; '*' for all")
	cmd.Flags().StringVarP(&f.group, "group", "g", everything, "group; '*' for all")
	cmd.Flags().StringVar(&f.service, "service", everything, "service; '*' for any text, as in 'orders-*'")
	cmd.Flags().BoolVar(&f.switches, "switches", false, "the switches of the server instead of services")
	cmd.Flags().StringVar(&f.role, "role", "", "a role with its permissions instead of one permission")
}

// args are the user and, but for --role, the action.
func (f *grantFlags) args(cmd *cobra.Command, args []string) error {
	if f.role == "" {
		if err := arguments("NAME", strings.Join(actions, "|"))(cmd, args); err != nil {
			return err
		}
		if !slices.Contains(actions, args[1]) {
			return usagef("%q is none of %s", args[1], strings.Join(actions, ", "))
		}
		return nil
	}
	for _, flag := range grantOf {
		if cmd.Flags().Changed(flag) {
			return usagef("--role and --%s exclude each other", flag)
		}
	}
	return arguments("NAME")(cmd, args)
}

// permission is what the flags and the action describe.
func (f *grantFlags) permission(user, action string) (adminclient.Permission, error) {
	p := adminclient.Permission{Role: ownRole(user), Action: action}
	if f.switches {
		p.Resource = auth.SwitchesResource().String()
		return p, nil
	}
	for flag, value := range map[string]string{"namespace": f.namespace, "group": f.group, "service": f.service} {
		if value == "" || flag != "service" && strings.Contains(value, ":") || strings.Contains(value, wire.GroupSeparator) {
			return p, usagef("--%s cannot be %q", flag, value)
		}
	}
	p.Resource = auth.NamingResource(f.namespace, f.group, f.service).String()
	return p, nil
}

func (c *cli) userGrantCommand() *cobra.Command {
	var data dataFlags
	var what grantFlags
	cmd := &cobra.Command{
		Use:   "grant NAME r|w|rw",
		Short: "Let a user read or write services, or give a role",
		Long: `Lets a user read (r), write (w) or do both (rw): a service, a group, or a whole
namespace. Lists of services need the right to read the whole namespace. What is
granted to a user belongs to the role user:NAME, which nobody else has; --role gives
a role that several share.

What allows everything is the role ROLE_ADMIN; it is given on the data directory
only.`,
		Example: `  rollcall user grant alice r --namespace dev
  rollcall user grant bob rw --namespace dev --group PAY --service orders
  rollcall user grant carol r --namespace '*'
  rollcall user grant dave --role operators`,
		Args:              what.args,
		ValidArgsFunction: c.completeGrant(&data),
		RunE: func(cmd *cobra.Command, args []string) error {
			if what.role == auth.AdminRole {
				if err := data.onlyHere(c, "--role "+auth.AdminRole); err != nil {
					return err
				}
			}
			return c.withGrant(cmd, &data, &what, args, func(ctx context.Context, u users, p adminclient.Permission) (string, error) {
				if what.role != "" {
					return "gave " + args[0] + " the role " + what.role, u.AddRole(ctx, args[0], what.role)
				}
				if err := ensureOwnRole(ctx, u, args[0]); err != nil {
					return "", err
				}
				return fmt.Sprintf("%s may %s %s", args[0], verb(p.Action), p.Resource), u.AddPermission(ctx, p)
			})
		},
	}
	data.add(cmd)
	what.add(cmd)
	return cmd
}

func (c *cli) userRevokeCommand() *cobra.Command {
	var data dataFlags
	var what grantFlags
	cmd := &cobra.Command{
		Use:   "revoke NAME r|w|rw",
		Short: "Take back what was granted, or a role",
		Long: `Takes back exactly what was granted with the same arguments. What a user may do
by a role that others have as well ends with that role (--role). rollcall user show
tells which is which.`,
		Example: `  rollcall user revoke alice r --namespace dev
  rollcall user revoke dave --role operators`,
		Args:              what.args,
		ValidArgsFunction: c.completeGrant(&data),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withGrant(cmd, &data, &what, args, func(ctx context.Context, u users, p adminclient.Permission) (string, error) {
				if what.role != "" {
					return "took the role " + what.role + " from " + args[0], revokeRole(ctx, u, args[0], what.role)
				}
				return fmt.Sprintf("%s may no longer %s %s", args[0], verb(p.Action), p.Resource), revokePermission(ctx, u, p)
			})
		},
	}
	data.add(cmd)
	what.add(cmd)
	return cmd
}

// withGrant has something done about a user who is there, and shows what the user
// may do then.
func (c *cli) withGrant(
	cmd *cobra.Command, data *dataFlags, what *grantFlags, args []string,
	do func(context.Context, users, adminclient.Permission) (sentence string, err error),
) error {
	var p adminclient.Permission
	if what.role == "" {
		var err error
		if p, err = what.permission(args[0], args[1]); err != nil {
			return err
		}
	}
	return c.withUsers(cmd, data, false, func(ctx context.Context, u users) error {
		if _, err := findUser(ctx, u, args[0]); err != nil {
			return err
		}
		sentence, err := do(ctx, u, p)
		if err != nil {
			return err
		}
		rights, err := rightsOf(ctx, u, args[0])
		if err != nil {
			return err
		}
		return c.printer().done(sentence, rights)
	})
}

// ensureOwnRole gives a user the role of his own. What it allowed an earlier user of
// the name, who was deleted without it, is not passed on.
func ensureOwnRole(ctx context.Context, u users, user string) error {
	known, err := findUser(ctx, u, user)
	if err != nil || slices.Contains(known.Roles, ownRole(user)) {
		return err
	}
	if err := dropRole(ctx, u, ownRole(user)); err != nil {
		return err
	}
	return u.AddRole(ctx, user, ownRole(user))
}

// dropRole takes a role from everybody, and all it allows: Nacos keeps that.
func dropRole(ctx context.Context, u users, role string) error {
	all, err := u.Permissions(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.Role == role {
			if err := u.RemovePermission(ctx, p); err != nil {
				return err
			}
		}
	}
	return u.DeleteRole(ctx, role)
}

func revokeRole(ctx context.Context, u users, user, role string) error {
	known, err := findUser(ctx, u, user)
	if err != nil {
		return err
	}
	if !slices.Contains(known.Roles, role) {
		return fmt.Errorf("%s has no role %s: %w", user, role, adminclient.ErrNotFound)
	}
	if role == ownRole(user) {
		return dropRole(ctx, u, role)
	}
	return u.RemoveRole(ctx, user, role)
}

// revokePermission removes a permission of a user's own role, and the role with
// the last of them.
func revokePermission(ctx context.Context, u users, p adminclient.Permission) error {
	all, err := u.Permissions(ctx)
	if err != nil {
		return err
	}
	own := slices.DeleteFunc(all, func(x adminclient.Permission) bool { return x.Role != p.Role })
	if !slices.Contains(own, p) {
		return fmt.Errorf("%s on %s was not granted: %w", p.Action, p.Resource, adminclient.ErrNotFound)
	}
	if len(own) == 1 {
		return dropRole(ctx, u, p.Role)
	}
	return u.RemovePermission(ctx, p)
}

// verb says what an action is.
func verb(action string) string {
	switch action {
	case actions[0]:
		return "read"
	case actions[1]:
		return "write"
	}
	return "read and write"
}
