package projection

import (
	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/state"
)

// Users are the users that a state holds, as [auth.Users]. They are always those
// of the moment.
type Users struct {
	// State holds them.
	State *state.State
}

// PasswordHash implements [auth.Users].
func (u Users) PasswordHash(user string) (hash string, ok bool) {
	found, ok := u.State.View().User(user)
	return found.PasswordHash, ok
}

// Roles implements [auth.Users].
func (u Users) Roles(user string) []string {
	var roles []string
	for r := range u.State.View().Roles(user) {
		roles = append(roles, r.Role)
	}
	return roles
}

// Permissions implements [auth.Users].
func (u Users) Permissions(role string) []auth.Permission {
	var permissions []auth.Permission
	for p := range u.State.View().Permissions(role) {
		permissions = append(permissions, auth.Permission{Resource: p.Resource, Action: p.Action})
	}
	return permissions
}
