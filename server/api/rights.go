package api

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/state"
)

// maxText bounds the texts of roles and permissions.
const maxText = 256

// bounded reads a parameter that must be there and is stored, in one line.
func (c *call) bounded(name string) (string, error) {
	value, err := c.Required(name)
	if err == nil && len(value) > maxText {
		err = wire.BadRequestf("Param '%s' is longer than %d bytes", name, maxText)
	}
	if err == nil && strings.ContainsFunc(value, unicode.IsControl) {
		err = wire.BadRequestf("Param '%s' has control characters", name)
	}
	return value, err
}

func (a *API) listRoles(c *call) (answer, error) {
	type item struct {
		Role     string `json:"role"`
		Username string `json:"username"`
	}
	user := c.Get("username")
	var all []item
	for r := range a.state.View().AllRoles() {
		if user == "" || r.User == user {
			all = append(all, item{r.Role, r.User})
		}
	}
	return pageOf(c, all)
}

func (a *API) searchRoles(c *call) (answer, error) {
	names := []string{}
	for r := range a.state.View().AllRoles() {
		if strings.Contains(r.Role, c.Get("role")) {
			names = append(names, r.Role)
		}
	}
	slices.Sort(names)
	return jsonOf(slices.Compact(names))
}

// addRole gives a user a role. That of administrators is given where the server
// runs and not from afar.
func (a *API) addRole(c *call) (answer, error) {
	role, err := c.bounded("role")
	if err != nil {
		return answer{}, err
	}
	user, err := c.Required("username")
	if err != nil {
		return answer{}, err
	}
	if role == auth.AdminRole {
		return answer{}, wire.BadRequestf("role '%s' is not permitted to create!", auth.AdminRole)
	}
	return a.managedBy(c, "add role ok!", &state.AddRole{Role: state.Role{User: user, Role: role}})
}

// removeRole takes a role from one user, or from all, with all it allows.
func (a *API) removeRole(c *call) (answer, error) {
	role, err := c.bounded("role")
	if err != nil {
		return answer{}, err
	}
	user := c.Get("username")
	if role == auth.AdminRole && !a.otherAdmin(user) {
		return answer{}, wire.BadRequest("the last administrator stays one")
	}
	message := "delete role ok!"
	if user != "" {
		message = fmt.Sprintf("delete role of user %s ok!", wire.Excerpt(user))
	}
	return a.managedBy(c, message, &state.RemoveRole{Role: state.Role{User: user, Role: role}})
}

// otherAdmin says whether there is an administrator besides a user, or besides
// all of them when none is named.
func (a *API) otherAdmin(user string) bool {
	for r := range a.state.View().AllRoles() {
		if user != "" && r.Role == auth.AdminRole && r.User != user {
			return true
		}
	}
	return false
}

// permissionItem says what a role may do.
type permissionItem struct {
	Role     string `json:"role"`
	Resource string `json:"resource"`
	Action   string `json:"action"`
}

func (a *API) listPermissions(c *call) (answer, error) {
	role := c.Get("role")
	var all []permissionItem
	for p := range a.state.View().AllPermissions() {
		if role == "" || p.Role == role {
			all = append(all, permissionItem(*p))
		}
	}
	return pageOf(c, all)
}

func (c *call) permission() (p state.Permission, err error) {
	if p.Role, err = c.bounded("role"); err != nil {
		return p, err
	}
	if p.Resource, err = c.bounded("resource"); err != nil {
		return p, err
	}
	p.Action, err = c.bounded("action")
	return p, err
}

func (a *API) addPermission(c *call) (answer, error) {
	p, err := c.permission()
	if err != nil {
		return answer{}, err
	}
	return a.managedBy(c, "add permission ok!", &state.AddPermission{Permission: p})
}

func (a *API) removePermission(c *call) (answer, error) {
	p, err := c.permission()
	if err != nil {
		return answer{}, err
	}
	return a.managedBy(c, "delete permission ok!", &state.RemovePermission{Permission: p})
}
