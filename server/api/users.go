package api

import (
	"net/http"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/state"
)

// paged is a page of users, roles or permissions.
type paged[T any] struct {
	TotalCount     int `json:"totalCount"`
	PageNumber     int `json:"pageNumber"`
	PagesAvailable int `json:"pagesAvailable"`
	PageItems      []T `json:"pageItems"`
}

// pageOf answers with the page of a list that a request asks for.
func pageOf[T any](c *call, all []T) (answer, error) {
	p, err := c.readExactPage(1)
	if err != nil {
		return answer{}, err
	}
	from, to := p.of(len(all))
	items := make([]T, 0, to-from)
	pages := len(all) / p.size
	if len(all)%p.size > 0 {
		pages++
	}
	return jsonOf(paged[T]{len(all), p.number, pages, append(items, all[from:to]...)})
}

// userItem is a user in a list. Nacos shows the password's hash there; it leaves
// this server in no answer.
type userItem struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

func (a *API) listUsers(c *call) (answer, error) {
	var all []userItem
	for u := range a.state.View().Users() {
		all = append(all, userItem{Username: u.Name})
	}
	return pageOf(c, all)
}

func (a *API) searchUsers(c *call) (answer, error) {
	names := []string{}
	for u := range a.state.View().SearchUsers(c.Get("username")) {
		names = append(names, u.Name)
	}
	return jsonOf(names)
}

// newPassword checks a name and password and returns what is stored of the
// latter.
func newPassword(user, password string) (hash string, err error) {
	if err := auth.CheckPassword(user, password); err != nil {
		return "", err
	}
	return auth.HashPassword(password)
}

func (a *API) createUser(c *call) (answer, error) {
	name, err := c.Required("username")
	if err != nil {
		return answer{}, err
	}
	password, err := c.Required("password")
	if err != nil {
		return answer{}, err
	}
	if err := auth.CheckUserName(name); err != nil {
		return answer{}, err
	}
	if _, known := a.state.View().User(name); known { // which is cheaper to find out than a hash to make
		return answer{}, wire.BadRequestf("user '%s' already exist!", name)
	}
	hash, err := newPassword(name, password)
	if err != nil {
		return answer{}, err
	}
	return a.managedBy(c, "create user ok!", &state.CreateUser{User: state.User{Name: name, PasswordHash: hash}})
}

// changePassword is for oneself, and for administrators about everybody. The
// old tokens of that user end with it.
func (a *API) changePassword(c *call) (answer, error) {
	name, err := c.Required("username")
	if err != nil {
		return answer{}, err
	}
	password, err := c.Required("newPassword")
	if err != nil {
		return answer{}, err
	}
	if c.user.Name != name && !a.auth.IsAdmin(c.user) {
		return answer{}, auth.ErrNotAuthorized
	}
	if _, known := a.state.View().User(name); !known {
		return answer{}, wire.BadRequestf("user '%s' not exist!", wire.Excerpt(name))
	}
	hash, err := newPassword(name, password)
	if err != nil {
		return answer{}, err
	}
	return a.managedBy(c, "update user ok!", &state.UpdateUser{User: state.User{Name: name, PasswordHash: hash}})
}

func (a *API) deleteUser(c *call) (answer, error) {
	name, err := c.Required("username")
	if err != nil {
		return answer{}, err
	}
	return a.managedBy(c, "delete user ok!", &state.DeleteUser{Name: name})
}

// managedBy has a command applied and answers with an envelope and a sentence.
func (a *API) managedBy(c *call, message string, command state.Command) (answer, error) {
	if _, err := a.propose(c, command); err != nil {
		return answer{}, err
	}
	return jsonOf(envelope{http.StatusOK, &message, nil})
}

// managed lets the management of users through only while authentication is on:
// otherwise whoever comes by could prepare an account for the day it is.
func (a *API) managed(h handle) handle {
	return func(c *call) (answer, error) {
		if !a.authOn {
			return answer{}, auth.Refusal(authOff)
		}
		return h(c)
	}
}

const authOff = "authentication is off: users are managed with nacos.core.auth.enabled, or by rollcall user on the data directory"
