package state

import (
	"github.com/rollcall-go/rollcall/internal/wire"
)

// Tags of the commands about users.
const (
	tagCreateUser       = "user.create"
	tagUpdateUser       = "user.update"
	tagDeleteUser       = "user.delete"
	tagAddRole          = "role.add"
	tagRemoveRole       = "role.remove"
	tagAddPermission    = "permission.add"
	tagRemovePermission = "permission.remove"
)

// CreateUser creates a user; a known name is [ErrUserExists].
type CreateUser struct{ User }

func (*CreateUser) tag() string { return tagCreateUser }

func (c *CreateUser) check() error { return c.User.check() }

func (c *CreateUser) apply(v *View) (Result, Change, error) {
	if _, ok := v.User(c.Name); ok {
		return Result{}, Change{}, wire.Refusef(ErrUserExists, "user '%s' already exist!", wire.Excerpt(c.Name))
	}
	put(&v.users, join(c.Name), &c.User)
	return Result{Changed: true}, Change{Kind: ChangeAuth}, nil
}

// UpdateUser replaces a user's password hash; an unknown name is
// [ErrUserNotFound].
type UpdateUser struct{ User }

func (*UpdateUser) tag() string { return tagUpdateUser }

func (c *UpdateUser) check() error { return c.User.check() }

func (c *UpdateUser) apply(v *View) (Result, Change, error) {
	if _, ok := v.User(c.Name); !ok {
		return Result{}, Change{}, wire.Refusef(ErrUserNotFound, "user %s not exist!", wire.Excerpt(c.Name))
	}
	put(&v.users, join(c.Name), &c.User)
	return Result{Changed: true}, Change{Kind: ChangeAuth}, nil
}

// DeleteUser deletes a user with all roles, so that a later user of the same name
// has none of them. An administrator is refused ([ErrUserIsAdmin]) until the role
// is removed. An unknown user is no error.
type DeleteUser struct {
	Name string `json:"name"`
}

func (*DeleteUser) tag() string { return tagDeleteUser }

func (c *DeleteUser) check() error { return checkName("username", c.Name) }

func (c *DeleteUser) apply(v *View) (Result, Change, error) {
	if v.HasRole(c.Name, AdminRole) {
		return Result{}, Change{}, wire.Refusef(ErrUserIsAdmin, "cannot delete admin: %s", wire.Excerpt(c.Name))
	}
	changed := remove(&v.users, join(c.Name))
	roles, found := v.roles.DeletePrefix(join(c.Name))
	v.roles = roles
	return Result{Changed: changed || found}, Change{Kind: ChangeAuth}, nil
}

// AddRole gives a user a role; an unknown user is [ErrUserNotFound]. Having it
// already is no error.
type AddRole struct{ Role }

func (*AddRole) tag() string { return tagAddRole }

func (c *AddRole) check() error {
	if err := checkName("username", c.User); err != nil {
		return err
	}
	return checkName("role", c.Role.Role)
}

func (c *AddRole) apply(v *View) (Result, Change, error) {
	if _, ok := v.User(c.User); !ok {
		return Result{}, Change{}, wire.Refusef(ErrUserNotFound, "user '%s' not found!", wire.Excerpt(c.User))
	}
	if v.HasRole(c.User, c.Role.Role) {
		return Result{}, Change{}, nil
	}
	put(&v.roles, join(c.User, c.Role.Role), &c.Role)
	return Result{Changed: true}, Change{Kind: ChangeAuth}, nil
}

// RemoveRole takes a role from a user, or with an empty User from everybody, with
// its permissions. What is not there is no error.
type RemoveRole struct{ Role }

func (*RemoveRole) tag() string { return tagRemoveRole }

func (c *RemoveRole) check() error {
	if err := checkKey("username", c.User); err != nil {
		return err
	}
	return checkName("role", c.Role.Role)
}

func (c *RemoveRole) apply(v *View) (Result, Change, error) {
	change := Change{Kind: ChangeAuth}
	if c.User != "" {
		return Result{Changed: remove(&v.roles, join(c.User, c.Role.Role))}, change, nil
	}
	permissions, found := v.permissions.DeletePrefix(join(c.Role.Role))
	v.permissions = permissions
	result := Result{Changed: found}
	for r := range v.AllRoles() { // of the tree as it was
		if r.Role == c.Role.Role {
			remove(&v.roles, join(r.User, r.Role))
			result.Changed = true
		}
	}
	return result, change, nil
}

// AddPermission allows a role something; a role that nobody has is
// [ErrRoleNotFound]. Allowing it again is no error.
type AddPermission struct{ Permission }

func (*AddPermission) tag() string { return tagAddPermission }

func (c *AddPermission) check() error { return c.Permission.check() }

func (c *AddPermission) apply(v *View) (Result, Change, error) {
	if !v.RoleExists(c.Role) {
		return Result{}, Change{}, wire.Refusef(ErrRoleNotFound, "role %s not found!", wire.Excerpt(c.Role))
	}
	key := join(c.Role, c.Resource, c.Action)
	if _, ok := v.permissions.Get(key); ok {
		return Result{}, Change{}, nil
	}
	put(&v.permissions, key, &c.Permission)
	return Result{Changed: true}, Change{Kind: ChangeAuth}, nil
}

// RemovePermission takes back what a role may do. What is not there is no error.
type RemovePermission struct{ Permission }

func (*RemovePermission) tag() string { return tagRemovePermission }

func (c *RemovePermission) check() error {
	return checkKey("a permission", c.Role, c.Resource, c.Action)
}

func (c *RemovePermission) apply(v *View) (Result, Change, error) {
	return Result{Changed: remove(&v.permissions, join(c.Role, c.Resource, c.Action))}, Change{Kind: ChangeAuth}, nil
}

func (u *User) check() error {
	if err := checkName("username", u.Name); err != nil {
		return err
	}
	if u.PasswordHash == "" {
		return wire.BadRequest("a user needs a password")
	}
	return nil
}

func (p *Permission) check() error {
	if err := checkName("role", p.Role); err != nil {
		return err
	}
	if err := checkName("resource", p.Resource); err != nil {
		return err
	}
	switch p.Action {
	case "r", "w", "rw":
		return nil
	}
	return wire.BadRequestf("an action is r, w or rw: %s", wire.Excerpt(p.Action))
}

func checkName(parameter, text string) error {
	if text == "" {
		return wire.BadRequestf("Param '%s' is required.", parameter)
	}
	return checkKey(parameter, text)
}
