package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
	"github.com/rollcall-go/rollcall/registry/nacos"
)

// address is how an instance is written.
func address(ip string, port int) string {
	return net.JoinHostPort(strings.Trim(ip, "[]"), strconv.Itoa(port))
}

// parseAddress reads that.
func parseAddress(text string) (ip string, port int, err error) {
	host, number, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, usagef("%q is not IP:PORT", text)
	}
	if ip, err = wire.ParseIP(host); err != nil {
		return "", 0, usageError{err}
	}
	if port, err = wire.ParsePort(number); err != nil {
		return "", 0, usageError{err}
	}
	return ip, port, nil
}

// metadata is one text of all keys.
func metadata(m map[string]string) string {
	pairs := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, k+"="+m[k])
	}
	return strings.Join(pairs, ",")
}

// target is the instance that arguments and flags name.
type target struct {
	named
	cluster string
}

func (t *target) add(cmd *cobra.Command) {
	t.named.add(cmd)
	cmd.Flags().StringVar(&t.cluster, "cluster", registry.DefaultCluster, "cluster of the instance")
}

func (t *target) instance(args []string) (wire.ServiceKey, adminclient.Instance, error) {
	k, err := t.key(args[0])
	if err != nil {
		return k, adminclient.Instance{}, err
	}
	i := adminclient.Instance{Weight: 1, Healthy: true, Enabled: true}
	if i.IP, i.Port, err = parseAddress(args[1]); err != nil {
		return k, i, err
	}
	if i.Cluster, err = wire.ParseCluster(t.cluster); err != nil {
		return k, i, usageError{err}
	}
	return k, i, nil
}

func (c *cli) registerCommand() *cobra.Command {
	var t target
	var weight float64
	var disabled, ephemeral bool
	var meta map[string]string
	cmd := &cobra.Command{
		Use:   "register SERVICE IP:PORT",
		Short: "Register an instance that stays, or one that lives as long as this command",
		Long: `Registers a persistent instance, which stays until it is deregistered and whose
health the registry checks. What was known of the same instance is replaced.

With --ephemeral the instance is one that beats: the command sends the beats until
Ctrl-C and then deregisters it.`,
		Example: `  rollcall register orders 127.0.0.1:8080 --metadata zone=a,version=2
  rollcall register orders 127.0.0.1:8080 --ephemeral`,
		Args:              arguments("SERVICE", "IP:PORT"),
		ValidArgsFunction: c.completeServices(&t.named),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, i, err := t.instance(args)
			if err != nil {
				return err
			}
			if err := wire.CheckWeight(weight); err != nil {
				return usageError{err}
			}
			i.Weight, i.Enabled, i.Metadata, i.Ephemeral = weight, !disabled, meta, ephemeral
			return c.withClient(cmd, func(ctx context.Context, client *adminclient.Client) error {
				if ephemeral {
					return c.keepRegistered(ctx, client, k, i)
				}
				if err := client.PutInstance(ctx, k, i); err != nil {
					return err
				}
				return c.printer().done(fmt.Sprintf("registered %s in %s", address(i.IP, i.Port), k), changeOf(k, i))
			})
		},
	}
	t.add(cmd)
	cmd.Flags().Float64Var(&weight, "weight", 1, "share of the traffic, 0 to 10000")
	cmd.Flags().StringToStringVar(&meta, "metadata", nil, "metadata, as in zone=a,version=2")
	cmd.Flags().BoolVar(&disabled, "disabled", false, "give it no traffic yet")
	cmd.Flags().BoolVar(&ephemeral, "ephemeral", false, "beat until Ctrl-C, then deregister")
	return cmd
}

// changed is what a change was about.
type changed struct {
	Namespace string `json:"namespace"`
	Group     string `json:"group"`
	Service   string `json:"service"`
	IP        string `json:"ip"`
	Port      int    `json:"port"`
	Cluster   string `json:"cluster"`
	Ephemeral bool   `json:"ephemeral"`
}

func changeOf(k wire.ServiceKey, i adminclient.Instance) changed {
	return changed{k.Namespace, k.Group, k.Name, i.IP, i.Port, i.Cluster, i.Ephemeral}
}

// deregisterTimeout bounds the last call of a command that was interrupted.
const deregisterTimeout = 5 * time.Second

// keepRegistered registers an instance and beats until ctx ends.
func (c *cli) keepRegistered(ctx context.Context, client *adminclient.Client, k wire.ServiceKey, i adminclient.Instance) error {
	keeper, err := nacos.New(nacos.Options{Connection: nacos.Connection{Client: client.Client}, Logger: c.logger()})
	if err != nil {
		return err
	}
	defer func() { _ = keeper.Close() }() // deregistering is what can fail
	registration := registry.Registration{Instance: registry.Instance{
		Service: serviceID(k), IP: i.IP, Port: i.Port, Cluster: i.Cluster, Weight: i.Weight,
		Healthy: true, Enabled: i.Enabled, Ephemeral: true, Metadata: i.Metadata,
	}}
	if err := keeper.Register(ctx, registration); err != nil {
		return adminclient.Explain(err)
	}
	err = c.printer().done(fmt.Sprintf("registered %s in %s; it is deregistered with Ctrl-C", address(i.IP, i.Port), k), changeOf(k, i))
	if err == nil {
		<-ctx.Done()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deregisterTimeout)
	defer cancel()
	if failed := keeper.Deregister(ctx, registration); failed != nil {
		return adminclient.Explain(failed)
	}
	return err
}

func serviceID(k wire.ServiceKey) registry.ServiceID {
	return registry.ServiceID{Namespace: k.Namespace, Group: k.Group, Name: k.Name}
}

func (c *cli) deregisterCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "deregister SERVICE IP:PORT",
		Short: "Take an instance out",
		Long: `Takes an instance out, of whichever kind it is. One whose client is alive comes
back with its next beat.`,
		Args:              arguments("SERVICE", "IP:PORT"),
		ValidArgsFunction: c.completeServices(&t.named),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, i, err := t.instance(args)
			if err != nil {
				return err
			}
			return c.withClient(cmd, func(ctx context.Context, client *adminclient.Client) error {
				found, err := client.Instances(ctx, k, i.Cluster)
				if err != nil {
					return err
				}
				at := slices.IndexFunc(found, func(f adminclient.Instance) bool { return f.IP == i.IP && f.Port == i.Port })
				if at < 0 {
					return fmt.Errorf("%s in %s: %w", address(i.IP, i.Port), k, adminclient.ErrNotFound)
				}
				i.Ephemeral = found[at].Ephemeral
				if err := client.RemoveInstance(ctx, k, i); err != nil {
					return err
				}
				return c.printer().done(fmt.Sprintf("deregistered %s from %s", address(i.IP, i.Port), k), changeOf(k, i))
			})
		},
	}
	t.add(cmd)
	return cmd
}
