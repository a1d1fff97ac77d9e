package nacosclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
)

const (
	instancePath = "/v1/ns/instance"
	beatPath     = "/v1/ns/instance/beat"
)

// Resolve fills in what a service id leaves out: the client's namespace, the
// default group.
func (c *Client) Resolve(id registry.ServiceID) registry.ServiceID {
	if id.Namespace == "" {
		id.Namespace = c.options.Namespace
	}
	return id.Normalize()
}

// Register makes an instance known, or replaces what was known of it.
func (c *Client) Register(ctx context.Context, r registry.Registration) error {
	return c.write(ctx, http.MethodPost, r)
}

// Update replaces what is known of an instance, its enabled flag included.
func (c *Client) Update(ctx context.Context, r registry.Registration) error {
	return c.write(ctx, http.MethodPut, r)
}

// write sends the whole instance. The flag goes by both of its names: other
// clients register with the one and update with the other, and not every registry
// knows both.
func (c *Client) write(ctx context.Context, method string, r registry.Registration) error {
	if err := c.Check(r); err != nil {
		return err
	}
	q := c.instanceQuery(r)
	q.Set("groupName", c.Resolve(r.Service).Group)
	q.Set("weight", strconv.FormatFloat(r.Weight, 'f', -1, 64))
	q.Set("enabled", strconv.FormatBool(r.Enabled))
	q.Set("enable", strconv.FormatBool(r.Enabled))
	q.Set("healthy", strconv.FormatBool(r.Healthy))
	q.Set("ephemeral", strconv.FormatBool(r.Ephemeral))
	q.Set("metadata", wire.EncodeMetadata(r.Metadata))
	return c.call(ctx, request{method: method, path: instancePath, query: q, limit: smallAnswer, decode: accepted})
}

// Deregister takes an instance out. An instance that nobody knows is no error.
// The registered ephemeral flag goes along, since a wrong one leaves the
// instance where it is (client case 23).
func (c *Client) Deregister(ctx context.Context, r registry.Registration) error {
	if err := c.Check(r); err != nil {
		return err
	}
	q := c.instanceQuery(r)
	q.Set("ephemeral", strconv.FormatBool(r.Ephemeral))
	return c.call(ctx, request{
		method: http.MethodDelete, path: instancePath, query: q, limit: smallAnswer, decode: accepted,
	})
}

// accepted takes nothing but Nacos' "ok" for a success, so that a login page of
// some proxy with status 200 is none.
func accepted(body []byte) error {
	if string(bytes.TrimSpace(body)) != "ok" {
		return errors.New(`the answer is not "ok"`)
	}
	return nil
}

// Beat tells the server that the instance lives. A full beat carries what a
// server that lost the instance needs to restore most of it; a light one does
// not, and is answered with [wire.CodeResourceNotFound] then.
func (c *Client) Beat(ctx context.Context, r registry.Registration, light bool) (wire.BeatReply, error) {
	if err := c.Check(r); err != nil {
		return wire.BeatReply{}, err
	}
	var reply wire.BeatReply
	req := request{
		method: http.MethodPut, path: beatPath, query: c.instanceQuery(r), limit: smallAnswer,
		decode: func(body []byte) error {
			reply = wire.BeatReply{}
			if err := json.Unmarshal(body, &reply); err != nil {
				return fmt.Errorf("is no beat reply: %w", err)
			}
			if reply.Code == 0 && reply.ClientBeatInterval == 0 {
				return errors.New("is no beat reply: neither code nor clientBeatInterval")
			}
			return nil
		},
	}
	if !light {
		beat, err := json.Marshal(c.beat(r))
		if err != nil {
			return wire.BeatReply{}, fmt.Errorf("encode beat: %w", err)
		}
		req.form = url.Values{"beat": {string(beat)}}
	}
	if err := c.call(ctx, req); err != nil {
		return wire.BeatReply{}, err
	}
	return reply, nil
}

func (c *Client) beat(r registry.Registration) *wire.Beat {
	key := r.Key()
	return &wire.Beat{
		IP: key.IP, Port: key.Port, Cluster: key.Cluster, ServiceName: c.Resolve(r.Service).Grouped(),
		Weight: r.Weight, Metadata: r.Metadata, Ephemeral: r.Ephemeral, Scheduled: true,
	}
}

// instanceQuery returns the parameters that name an instance.
func (c *Client) instanceQuery(r registry.Registration) url.Values {
	key, service := r.Key(), c.Resolve(r.Service)
	q := url.Values{
		"namespaceId": {service.Namespace},
		"serviceName": {service.Grouped()},
		"clusterName": {key.Cluster},
		"ip":          {key.IP},
		"port":        {strconv.Itoa(key.Port)},
	}
	c.addApp(q)
	return q
}

func (c *Client) addApp(q url.Values) {
	if c.options.AppName != "" {
		q.Set("app", c.options.AppName)
	}
}

// Check reports what a server would refuse about an instance.
func (c *Client) Check(r registry.Registration) error {
	id := c.Resolve(r.Service)
	_, ipErr := wire.ParseIP(r.IP)
	_, clusterErr := wire.ParseCluster(r.Cluster)
	err := errors.Join(checkName(id), ipErr, wire.CheckPort(r.Port), clusterErr, wire.CheckWeight(r.Weight))
	if err != nil {
		return fmt.Errorf("instance %s of %s: %w", r.Address(), id, err)
	}
	return nil
}

// checkName checks the name of a resolved id in the form it is sent in.
func checkName(id registry.ServiceID) error {
	if id.Name == "" {
		return errors.New("the service has no name")
	}
	_, err := wire.ParseServiceName(id.Grouped(), "")
	return err
}
