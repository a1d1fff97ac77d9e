package adminclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/rollcall-go/rollcall/internal/nacosclient"
)

// User is a user with its roles.
type User struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

// Users returns all users.
func (c *Client) Users(ctx context.Context) ([]User, error) {
	var users []User
	err := pages(func(page url.Values) (int, int, error) {
		var reply struct {
			TotalCount int `json:"totalCount"`
			PageItems  []struct {
				Username string `json:"username"`
			} `json:"pageItems"`
		}
		err := c.get(ctx, "/v1/auth/users", page, &reply)
		for _, u := range reply.PageItems {
			users = append(users, User{Name: u.Username, Roles: []string{}})
		}
		return len(reply.PageItems), reply.TotalCount, err
	})
	if err != nil {
		return nil, err
	}
	roles, err := c.roles(ctx)
	if err != nil {
		return nil, err
	}
	for i, u := range users {
		users[i].Roles = append(u.Roles, roles[u.Name]...)
	}
	return users, nil
}

func (c *Client) roles(ctx context.Context) (map[string][]string, error) {
	roles := make(map[string][]string)
	err := pages(func(page url.Values) (int, int, error) {
		var reply struct {
			TotalCount int `json:"totalCount"`
			PageItems  []struct {
				Username string `json:"username"`
				Role     string `json:"role"`
			} `json:"pageItems"`
		}
		err := c.get(ctx, "/v1/auth/roles", page, &reply)
		for _, r := range reply.PageItems {
			roles[r.Username] = append(roles[r.Username], r.Role)
		}
		return len(reply.PageItems), reply.TotalCount, err
	})
	return roles, err
}

// CreateUser creates a user.
func (c *Client) CreateUser(ctx context.Context, name, password string) error {
	return c.manage(ctx, http.MethodPost, "/v1/auth/users", url.Values{"username": {name}}, url.Values{"password": {password}})
}

// SetPassword changes a password: one's own, or as an administrator anybody's.
func (c *Client) SetPassword(ctx context.Context, name, password string) error {
	return c.manage(ctx, http.MethodPut, "/v1/auth/users", url.Values{"username": {name}}, url.Values{"newPassword": {password}})
}

// DeleteUser removes a user. One who is not there is no error.
func (c *Client) DeleteUser(ctx context.Context, name string) error {
	return c.manage(ctx, http.MethodDelete, "/v1/auth/users", url.Values{"username": {name}}, nil)
}

// AddRole gives a user a role.
func (c *Client) AddRole(ctx context.Context, user, role string) error {
	return c.manage(ctx, http.MethodPost, "/v1/auth/roles", url.Values{"username": {user}, "role": {role}}, nil)
}

// DeleteRole takes a role from everybody, with its permissions.
func (c *Client) DeleteRole(ctx context.Context, role string) error {
	return c.manage(ctx, http.MethodDelete, "/v1/auth/roles", url.Values{"role": {role}}, nil)
}

// Permission says what a role may do.
type Permission struct {
	Role string `json:"role"`
	// Resource is a pattern such as "dev:*:naming/orders".
	Resource string `json:"resource"`
	// Action is r, w or rw.
	Action string `json:"action"`
}

func (p Permission) query() url.Values {
	return url.Values{"role": {p.Role}, "resource": {p.Resource}, "action": {p.Action}}
}

// Permissions returns what all roles may do.
func (c *Client) Permissions(ctx context.Context) (permissions []Permission, err error) {
	err = pages(func(page url.Values) (int, int, error) {
		var reply struct {
			TotalCount int          `json:"totalCount"`
			PageItems  []Permission `json:"pageItems"`
		}
		err := c.get(ctx, "/v1/auth/permissions", page, &reply)
		permissions = append(permissions, reply.PageItems...)
		return len(reply.PageItems), reply.TotalCount, err
	})
	return permissions, err
}

// AddPermission lets a role, which somebody must have, do something.
func (c *Client) AddPermission(ctx context.Context, p Permission) error {
	return c.manage(ctx, http.MethodPost, "/v1/auth/permissions", p.query(), nil)
}

// RemovePermission takes that back.
func (c *Client) RemovePermission(ctx context.Context, p Permission) error {
	return c.manage(ctx, http.MethodDelete, "/v1/auth/permissions", p.query(), nil)
}

// RemoveRole takes a role from a user.
func (c *Client) RemoveRole(ctx context.Context, user, role string) error {
	return c.manage(ctx, http.MethodDelete, "/v1/auth/roles", url.Values{"username": {user}, "role": {role}}, nil)
}

// manage sends a change that is answered with an envelope. Its answers may repeat
// what was sent, so they stay out of errors of decoding.
func (c *Client) manage(ctx context.Context, method, path string, query, form url.Values) error {
	return c.do(ctx, nacosclient.Call{
		Method: method, Path: path, Query: query, Form: form, Secret: true,
		Decode: func(body []byte) error {
			var envelope struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			}
			if err := json.Unmarshal(body, &envelope); err != nil {
				return errors.New("the answer is no envelope")
			}
			if envelope.Code != http.StatusOK {
				return fmt.Errorf("the registry answers %d: %s", envelope.Code, envelope.Message)
			}
			return nil
		},
	})
}
