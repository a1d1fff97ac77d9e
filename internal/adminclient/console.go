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

// Namespace is a namespace as the console shows it. That of everybody has the id
// "" there.
type Namespace struct {
	ID          string `json:"namespace"`
	Name        string `json:"namespaceShowName"`
	Description string `json:"namespaceDesc"`
}

// Namespaces returns the namespaces, those that are merely in use included.
func (c *Client) Namespaces(ctx context.Context) ([]Namespace, error) {
	var reply struct {
		Data []Namespace `json:"data"`
	}
	if err := c.get(ctx, "/v1/console/namespaces", nil, &reply); err != nil {
		return nil, err
	}
	if reply.Data == nil {
		return nil, errors.New("the answer is no list of namespaces")
	}
	return reply.Data, nil
}

// NamespaceDescription returns the description, which the list leaves out.
func (c *Client) NamespaceDescription(ctx context.Context, id string) (string, error) {
	var n Namespace
	err := c.get(ctx, "/v1/console/namespaces", url.Values{"show": {"all"}, "namespaceId": {id}}, &n)
	return n.Description, err
}

// PutNamespace creates a namespace, or gives one another name and description.
func (c *Client) PutNamespace(ctx context.Context, n Namespace, exists bool) error {
	if exists {
		return c.write(ctx, http.MethodPut, "/v1/console/namespaces", url.Values{
			"namespace": {n.ID}, "namespaceShowName": {n.Name}, "namespaceDesc": {n.Description},
		}, "true")
	}
	return c.write(ctx, http.MethodPost, "/v1/console/namespaces", url.Values{
		"customNamespaceId": {n.ID}, "namespaceName": {n.Name}, "namespaceDesc": {n.Description},
	}, "true")
}

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
