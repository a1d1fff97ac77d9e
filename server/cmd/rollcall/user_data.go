package main

import (
	"context"

	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/control"
	"github.com/rollcall-go/rollcall/server/state"
)

// dataUsers are the users in a data directory.
type dataUsers struct{ data *control.Data }

func (d dataUsers) propose(ctx context.Context, command state.Command) error {
	_, err := state.Propose(ctx, d.data, command)
	return err
}

// Users implements users.
func (d dataUsers) Users(ctx context.Context) ([]adminclient.User, error) {
	view, err := d.data.View(ctx)
	if err != nil {
		return nil, err
	}
	var all []adminclient.User
	for u := range view.Users() {
		user := adminclient.User{Name: u.Name, Roles: []string{}}
		for r := range view.Roles(u.Name) {
			user.Roles = append(user.Roles, r.Role)
		}
		all = append(all, user)
	}
	return all, nil
}

// hashed is a user as it is stored.
func hashed(name, password string) (state.User, error) {
	hash, err := auth.HashPassword(password)
	return state.User{Name: name, PasswordHash: hash}, err
}

// CreateUser implements users.
func (d dataUsers) CreateUser(ctx context.Context, name, password string) error {
	user, err := hashed(name, password)
	if err != nil {
		return err
	}
	return d.propose(ctx, &state.CreateUser{User: user})
}

// SetPassword implements users.
func (d dataUsers) SetPassword(ctx context.Context, name, password string) error {
	user, err := hashed(name, password)
	if err != nil {
		return err
	}
	return d.propose(ctx, &state.UpdateUser{User: user})
}

// DeleteUser implements users.
func (d dataUsers) DeleteUser(ctx context.Context, name string) error {
	return d.propose(ctx, &state.DeleteUser{Name: name})
}

// RemoveRole implements users.
func (d dataUsers) RemoveRole(ctx context.Context, user, role string) error {
	return d.propose(ctx, &state.RemoveRole{Role: state.Role{User: user, Role: role}})
}

// AddRole implements users.
func (d dataUsers) AddRole(ctx context.Context, user, role string) error {
	return d.propose(ctx, &state.AddRole{Role: state.Role{User: user, Role: role}})
}

// DeleteRole implements users.
func (d dataUsers) DeleteRole(ctx context.Context, role string) error {
	return d.propose(ctx, &state.RemoveRole{Role: state.Role{Role: role}})
}

// Permissions implements users.
func (d dataUsers) Permissions(ctx context.Context) ([]adminclient.Permission, error) {
	view, err := d.data.View(ctx)
	if err != nil {
		return nil, err
	}
	var all []adminclient.Permission
	for p := range view.AllPermissions() {
		all = append(all, adminclient.Permission(*p))
	}
	return all, nil
}

// AddPermission implements users.
func (d dataUsers) AddPermission(ctx context.Context, p adminclient.Permission) error {
	return d.propose(ctx, &state.AddPermission{Permission: state.Permission(p)})
}

// RemovePermission implements users.
func (d dataUsers) RemovePermission(ctx context.Context, p adminclient.Permission) error {
	return d.propose(ctx, &state.RemovePermission{Permission: state.Permission(p)})
}
