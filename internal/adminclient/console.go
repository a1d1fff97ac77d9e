package adminclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
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
