package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/discovery/nacos"
	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
)

func (c *cli) watchCommand() *cobra.Command {
	var n named
	var interval time.Duration
	var push bool
	cmd := &cobra.Command{
		Use:   "watch SERVICE",
		Short: "Print the changes of a service until Ctrl-C",
		Long: `Prints the instances of a service as a caller sees them, and each change from then
on: + for one that appears, - for one that goes, ~ for one that changes. With
-o json each is a line, with -o yaml a document.

The registry is asked again every --interval, and with --push tells by UDP when
something changes. Who can forge its address can forge that.`,
		Args:              arguments("SERVICE"),
		ValidArgsFunction: c.completeServices(&n),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := n.key(args[0])
			if err != nil {
				return err
			}
			if interval < 100*time.Millisecond {
				return usagef("--interval must be 100ms or more")
			}
			return c.withClient(cmd, func(ctx context.Context, client *adminclient.Client) error {
				return c.watch(ctx, client, k, interval, push)
			})
		},
	}
	n.add(cmd)
	cmd.Flags().DurationVar(&interval, "interval", 2*time.Second, "time between two looks")
	cmd.Flags().BoolVar(&push, "push", false, "have the registry tell of changes by UDP")
	return cmd
}

func (c *cli) watch(ctx context.Context, client *adminclient.Client, k wire.ServiceKey, interval time.Duration, push bool) error {
	source, err := nacos.NewSource(nacos.Options{Connection: nacos.Connection{Client: client.Client}, Logger: c.logger(), Push: nacos.Push{Enabled: push}})
	if err != nil {
		return err
	}
	services, err := discovery.New(discovery.Options{
		Sources: []discovery.Source{source}, RefreshInterval: interval, Logger: c.logger(),
		FirstFetchTimeout: c.connection.timeout,
	})
	if err != nil {
		return errors.Join(err, source.Close())
	}
	defer func() { _ = services.Close() }() // it only read
	first, err := services.Snapshot(ctx, serviceID(k))
	if err != nil {
		return adminclient.Explain(err)
	}
	if len(first.Instances) == 0 { // else nothing at all would be printed
		fmt.Fprintf(c.err, "%s has no instance now\n", printable(k.String()))
	}
	w := &watcher{printer: c.printer(), now: time.Now, failed: make(chan error, 1)}
	subscription, err := services.Subscribe(serviceID(k), w.see)
	if err != nil {
		return err
	}
	defer subscription.Close()
	select {
	case <-ctx.Done():
		return nil // that is how it ends
	case err := <-w.failed:
		return err
	}
}

// watcher prints what is different in each snapshot.
type watcher struct {
	printer *printer
	now     func() time.Time
	failed  chan error // of printing

	mu    sync.Mutex
	known map[registry.Key]registry.Instance
}

// change is one line of the watch.
type change struct {
	Time     string   `json:"time"`
	Change   string   `json:"change"` // added, removed, changed
	What     []string `json:"what,omitempty"`
	Instance instance `json:"instance"`
}

func (w *watcher) see(s *discovery.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := make(map[registry.Key]registry.Instance, len(s.Instances))
	for _, i := range s.Instances {
		next[i.Key()] = i
	}
	for _, c := range changes(w.known, next) {
		c.Time = w.now().Format(time.RFC3339)
		if err := w.print(c); err != nil {
			select {
			case w.failed <- err:
			default:
			}
			return
		}
	}
	w.known = next
}

// changes returns what was removed, added and changed, in the order of lists.
func changes(old, next map[registry.Key]registry.Instance) []change {
	all := []change{}
	for _, k := range ordered(old) {
		if _, stays := next[k]; !stays {
			all = append(all, change{Change: "removed", Instance: instanceOf(old[k])})
		}
	}
	for _, k := range ordered(next) {
		before, known := old[k]
		if !known {
			all = append(all, change{Change: "added", Instance: instanceOf(next[k])})
			continue
		}
		if what := differences(before, next[k]); len(what) > 0 {
			all = append(all, change{Change: "changed", What: what, Instance: instanceOf(next[k])})
		}
	}
	return all
}

func ordered(m map[registry.Key]registry.Instance) []registry.Key {
	return slices.SortedFunc(maps.Keys(m), func(a, b registry.Key) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.IP, b.IP), cmp.Compare(a.Port, b.Port))
	})
}

// differences says in words what is different.
func differences(a, b registry.Instance) []string {
	var what []string
	differs := func(name, from, to string) {
		if from != to {
			what = append(what, fmt.Sprintf("%s %s → %s", name, from, to))
		}
	}
	differs("health", health(a.Healthy, a.Enabled).text, health(b.Healthy, b.Enabled).text)
	differs("weight", strconv.FormatFloat(a.Weight, 'f', -1, 64), strconv.FormatFloat(b.Weight, 'f', -1, 64))
	differs("kind", kind(a.Ephemeral), kind(b.Ephemeral))
	differs("metadata", cmp.Or(metadata(a.Metadata), "none"), cmp.Or(metadata(b.Metadata), "none"))
	return what
}

func instanceOf(i registry.Instance) instance {
	m := i.Metadata
	if m == nil {
		m = map[string]string{}
	}
	return instance{
		IP: i.IP, Port: i.Port, Cluster: i.Cluster, Weight: i.Weight, Healthy: i.Healthy, Enabled: i.Enabled,
		Ephemeral: i.Ephemeral, Metadata: m,
	}
}

func (w *watcher) print(c change) error {
	if w.printer.format != formatTable {
		return w.printer.event(c)
	}
	sign, colour := "~", yellow
	switch c.Change {
	case "added":
		sign, colour = "+", green
	case "removed":
		sign, colour = "-", red
	}
	details := health(c.Instance.Healthy, c.Instance.Enabled).text + " " + metadata(c.Instance.Metadata)
	if len(c.What) > 0 {
		details = strings.Join(c.What, ", ")
	}
	if c.Change == "removed" {
		details = ""
	}
	line := fmt.Sprintf("%s %s %s %s", sign, address(c.Instance.IP, c.Instance.Port), c.Instance.Cluster, details)
	_, err := fmt.Fprintf(w.printer.w, "%s %s\n", c.Time, w.printer.coloured(colour, printable(strings.TrimSpace(line))))
	return err
}
