package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/server/auth"
)

// rights are a user with all that the user may do.
type rights struct {
	adminclient.User
	Permissions []adminclient.Permission `json:"permissions"`
}

// findUser returns a user, or adminclient.ErrNotFound.
func findUser(ctx context.Context, u users, name string) (adminclient.User, error) {
	all, err := u.Users(ctx)
	if err != nil {
		return adminclient.User{}, err
	}
	for _, x := range all {
		if x.Name == name {
			return x, nil
		}
	}
	return adminclient.User{}, fmt.Errorf("user %s: %w", name, adminclient.ErrNotFound)
}

func rightsOf(ctx context.Context, u users, name string) (rights, error) {
	user, err := findUser(ctx, u, name)
	if err != nil {
		return rights{}, err
	}
	all, err := u.Permissions(ctx)
	if err != nil {
		return rights{}, err
	}
	r := rights{User: user, Permissions: []adminclient.Permission{}}
	for _, p := range all {
		if slices.Contains(user.Roles, p.Role) {
			r.Permissions = append(r.Permissions, p)
		}
	}
	return r, nil
}

func (c *cli) userShowCommand() *cobra.Command {
	var data dataFlags
	cmd := &cobra.Command{
		Use:               "show NAME",
		Short:             "Show a user's roles and what they allow",
		Args:              arguments("NAME"),
		ValidArgsFunction: c.completeUsers(&data),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withUsers(cmd, &data, false, func(ctx context.Context, u users) error {
				r, err := rightsOf(ctx, u, args[0])
				if err != nil {
					return err
				}
				return c.showRights(r)
			})
		},
	}
	data.add(cmd)
	return cmd
}

// showRights prints a line for each permission, and one for each role without any.
func (c *cli) showRights(r rights) error {
	var all []row
	for _, role := range r.Roles {
		lines := []row{}
		for _, p := range r.Permissions {
			if p.Role == role {
				lines = append(lines, row{plain(role), plain(p.Resource), plain(p.Action)})
			}
		}
		if role == auth.AdminRole {
			lines = []row{{plain(role), plain("everything"), plain(actions[2])}}
		}
		if len(lines) == 0 {
			lines = []row{{plain(role), plain("-"), plain("-")}}
		}
		all = append(all, lines...)
	}
	return c.printer().list(r, []string{"ROLE", "RESOURCE", "ACTION"}, slices.Values(all))
}

// completeUsers offers the names of users, as far as they can be had at once.
func (c *cli) completeUsers(data *dataFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
		defer cancel()
		cmd.SetContext(ctx)
		var names []string
		err := c.withUsers(cmd, data, false, func(ctx context.Context, u users) error {
			all, err := u.Users(ctx)
			for _, x := range all {
				names = append(names, x.Name)
			}
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeGrant offers users, then actions.
func (c *cli) completeGrant(data *dataFlags) cobra.CompletionFunc {
	names := c.completeUsers(data)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return actions, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cmd, args, typed)
	}
}
