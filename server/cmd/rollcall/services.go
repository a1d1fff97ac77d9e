package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/internal/wire"
)

// service is a line of the list of services.
type service struct {
	Group     string `json:"group"`
	Name      string `json:"name"`
	Clusters  int    `json:"clusters"`
	Instances int    `json:"instances"`
	Healthy   int    `json:"healthy"`
	Protected bool   `json:"protected"`
}

func (c *cli) servicesCommand() *cobra.Command {
	var n named
	cmd := &cobra.Command{
		Use:   "services",
		Short: "List the services of a namespace",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(cmd, func(ctx context.Context, client *adminclient.Client) error {
				return c.listServices(ctx, client, n.namespace, n.group)
			})
		},
	}
	cmd.Flags().StringVarP(&n.namespace, "namespace", "n", wire.PublicNamespace, "id of the namespace")
	cmd.Flags().StringVarP(&n.group, "group", "g", "", "only this group")
	return cmd
}

func (c *cli) listServices(ctx context.Context, client *adminclient.Client, namespace, group string) error {
	lines, err := client.Services(ctx, namespace)
	if err != nil {
		return err
	}
	services := []service{}
	for _, l := range lines {
		if group == "" || l.Group == group {
			protected, _ := strconv.ParseBool(l.Protected) // what is no such word is not true
			services = append(services, service{l.Group, l.Name, l.Clusters, l.Instances, l.Healthy, protected})
		}
	}
	head := []string{"GROUP", "SERVICE", "CLUSTERS", "INSTANCES", "HEALTHY", "PROTECTED"}
	return c.printer().list(services, head, eachOf(services, func(s service) row {
		healthy := number(s.Healthy)
		switch {
		case s.Instances == 0:
		case s.Healthy == s.Instances:
			healthy.colour = green
		case s.Healthy == 0:
			healthy.colour = red
		default:
			healthy.colour = yellow
		}
		protected := cell{"no", none}
		if s.Protected {
			protected = cell{"yes", yellow}
		}
		return row{plain(s.Group), plain(s.Name), number(s.Clusters), number(s.Instances), healthy, protected}
	}))
}

// instance is a line of the list of instances.
type instance struct {
	IP        string            `json:"ip"`
	Port      int               `json:"port"`
	Cluster   string            `json:"cluster"`
	Weight    float64           `json:"weight"`
	Healthy   bool              `json:"healthy"`
	Enabled   bool              `json:"enabled"`
	Ephemeral bool              `json:"ephemeral"`
	App       string            `json:"app,omitempty"`
	LastBeat  string            `json:"lastBeat,omitempty"`
	Metadata  map[string]string `json:"metadata"`
}

func (c *cli) instancesCommand() *cobra.Command {
	var n named
	cmd := &cobra.Command{
		Use:   "instances SERVICE",
		Short: "List the instances of a service, with their real health",
		Long: `Lists all instances of a service, disabled ones included. The health is what is
known of each one: that too few are healthy and all are handed out changes nothing
here.`,
		Args:              arguments("SERVICE"),
		ValidArgsFunction: c.completeServices(&n),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := n.key(args[0])
			if err != nil {
				return err
			}
			return c.withClient(cmd, func(ctx context.Context, client *adminclient.Client) error {
				return c.listInstances(ctx, client, k)
			})
		},
	}
	n.add(cmd)
	return cmd
}

func (c *cli) listInstances(ctx context.Context, client *adminclient.Client, k wire.ServiceKey) error {
	found, err := client.AllInstances(ctx, k)
	if err != nil {
		return err
	}
	instances := []instance{}
	for _, i := range found {
		line := instance{
			IP: i.IP, Port: i.Port, Cluster: i.Cluster, Weight: i.Weight, Healthy: i.Healthy, Enabled: i.Enabled,
			Ephemeral: i.Ephemeral, App: i.App, Metadata: i.Metadata,
		}
		if line.Metadata == nil {
			line.Metadata = map[string]string{}
		}
		if i.Ephemeral && i.LastBeat > 0 {
			line.LastBeat = time.UnixMilli(i.LastBeat).UTC().Format(time.RFC3339)
		}
		instances = append(instances, line)
	}
	head := []string{"ADDRESS", "CLUSTER", "HEALTH", "WEIGHT", "KIND", "METADATA"}
	return c.printer().list(instances, head, eachOf(instances, func(i instance) row {
		return row{
			plain(address(i.IP, i.Port)), plain(i.Cluster), health(i.Healthy, i.Enabled),
			plain(strconv.FormatFloat(i.Weight, 'f', -1, 64)), plain(kind(i.Ephemeral)), plain(metadata(i.Metadata)),
		}
	}))
}

// health is what callers think of an instance.
func health(healthy, enabled bool) cell {
	switch {
	case !enabled:
		return cell{"disabled", yellow}
	case healthy:
		return cell{"healthy", green}
	}
	return cell{"unhealthy", red}
}

func kind(ephemeral bool) string {
	if ephemeral {
		return "ephemeral"
	}
	return "persistent"
}

// completeServices offers the names of services, as far as the registry answers
// at once.
func (c *cli) completeServices(n *named) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		client, err := c.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer func() { _ = client.Close() }() // there is nobody to tell
		ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
		defer cancel()
		names, err := client.Client.Services(ctx, n.namespace, n.group)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
