package nacosclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
)

// List asks for the instances of a service in all clusters, unhealthy ones
// included. A service nobody knows is an empty list. udpPort > 0 asks to be
// pushed to at clientIP.
func (c *Client) List(ctx context.Context, id registry.ServiceID, udpPort int, clientIP string) (wire.ServiceList, error) {
	id = c.Resolve(id)
	if err := checkName(id); err != nil {
		return wire.ServiceList{}, fmt.Errorf("list %s: %w", id, err)
	}
	q := url.Values{
		"namespaceId": {id.Namespace},
		"serviceName": {id.Grouped()},
		"clusters":    {""},
		"udpPort":     {strconv.Itoa(udpPort)},
		"clientIP":    {clientIP},
		"healthyOnly": {"false"},
	}
	c.addApp(q)
	var list wire.ServiceList
	err := c.call(ctx, request{
		method: http.MethodGet, path: "/v1/ns/instance/list", query: q, limit: listAnswer,
		decode: func(body []byte) (err error) {
			list, err = ParseList(body)
			return err
		},
	})
	if err != nil {
		return wire.ServiceList{}, err
	}
	return list, nil
}

// Services returns the sorted bare names in a namespace and group; "" is the
// client's namespace and the default group.
func (c *Client) Services(ctx context.Context, namespace, group string) ([]string, error) {
	q := url.Values{
		"namespaceId": {cmp.Or(namespace, c.options.Namespace)},
		"groupName":   {cmp.Or(group, wire.DefaultGroup)},
		"pageNo":      {"1"},
		"pageSize":    {strconv.Itoa(math.MaxInt32)},
	}
	var reply struct {
		Doms []string `json:"doms"`
	}
	err := c.call(ctx, request{
		method: http.MethodGet, path: "/v1/ns/service/list", query: q, limit: listAnswer,
		decode: func(body []byte) error {
			reply.Doms = nil
			if err := json.Unmarshal(body, &reply); err != nil {
				return fmt.Errorf("is no list of services: %w", err)
			}
			if reply.Doms == nil {
				return errors.New("is no list of services: doms is missing")
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(reply.Doms)
	return reply.Doms, nil
}

// ServerStatus returns what a server says of itself: "UP", "DOWN" or another
// word of Nacos.
func (c *Client) ServerStatus(ctx context.Context) (string, error) {
	var reply struct {
		Status string `json:"status"`
	}
	err := c.call(ctx, request{
		method: http.MethodGet, path: "/v1/ns/operator/metrics", limit: smallAnswer,
		decode: func(body []byte) error {
			if err := json.Unmarshal(body, &reply); err != nil {
				return fmt.Errorf("is no status: %w", err)
			}
			if reply.Status == "" {
				return errors.New("is no status")
			}
			return nil
		},
	})
	if err != nil {
		return "", err
	}
	return reply.Status, nil
}
