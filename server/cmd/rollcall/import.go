package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/internal/adminclient/transfer"
)

func (c *cli) importCommand() *cobra.Command {
	var from connection
	var namespaces []string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "import --from ADDRESS",
		Short: "Take namespaces, services and persistent instances from a running Nacos",
		Long: `Takes over from a Nacos 1.x (or another rollcall) at --from to the registry at
--server, over the API of both: namespaces; services that were created or have
settings, with their clusters and health checks; persistent instances. What is
there already and the same is left alone, what is different is replaced, nothing
is removed: so it can be repeated, also while clients move over.

Instances that beat are left to their clients. Users are left out, as a registry
does not tell their passwords; so are switches, which are about a server and not
about what it serves.`,
		Example: `  rollcall import --from nacos.example:8848 --server 127.0.0.1:8848
  rollcall import --from nacos.example:8848 --dry-run`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			from.caFile = cmp.Or(from.caFile, c.connection.caFile)
			from.timeout = c.connection.timeout
			opts, err := from.options("ROLLCALL_FROM_")
			if err != nil {
				return err
			}
			if len(from.servers) == 0 {
				return usagef("--from is missing")
			}
			source, err := adminclient.New(opts)
			if err != nil {
				return err
			}
			defer func() { _ = source.Close() }() // it was only read
			return c.withClient(cmd, func(ctx context.Context, target *adminclient.Client) error {
				return c.transfer(ctx, transfer.Options{
					From: source, To: target, Namespaces: namespaces, DryRun: dryRun,
				})
			})
		},
	}
	cmd.Flags().StringSliceVar(&from.servers, "from", nil, "registry to read: host:port or http(s)://host:port/path")
	cmd.Flags().StringVar(&from.username, "from-username", "", "user to log in there as (ROLLCALL_FROM_USERNAME)")
	cmd.Flags().StringVar(&from.password, "from-password", "", "its password, better by ROLLCALL_FROM_PASSWORD")
	cmd.Flags().StringVar(&from.caFile, "from-ca-file", "", "PEM `file` with the certificates to trust there (ROLLCALL_FROM_CA_FILE)")
	cmd.Flags().StringSliceVarP(&namespaces, "namespace", "n", nil, "only these namespaces, by id")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be done")
	return cmd
}

// progressPeriod is how often a long import says where it is.
const progressPeriod = time.Second

func (c *cli) transfer(ctx context.Context, o transfer.Options) error {
	var last time.Time
	o.Progress = func(p transfer.Progress) {
		if now := time.Now(); p.Done == p.Of || now.Sub(last) >= progressPeriod {
			last = now
			fmt.Fprintf(c.err, "namespace %s: %d of %d services\n", printable(p.Namespace), p.Done, p.Of)
		}
	}
	o.Problem = func(err error) { fmt.Fprintf(c.err, "rollcall: %s\n", printable(err.Error())) }
	report, err := transfer.Run(ctx, o)
	if report.WithoutInstances > 0 {
		fmt.Fprintf(c.err, "%s without instances and settings: within minutes a server removes what is empty, "+
			"unless its nacos.naming.empty-service.auto-clean is false\n", quantity(report.WithoutInstances, "service"))
	}
	if printErr := c.showReport(report); err == nil {
		err = printErr
	}
	if err == nil && report.Failed() > 0 {
		return silentError(exitFailed) // each was said
	}
	return err
}

func (c *cli) showReport(r transfer.Report) error {
	printer := c.printer()
	line := func(what string, t transfer.Tally) row {
		failed := number(t.Failed)
		if t.Failed > 0 {
			failed.colour = red
		}
		return row{plain(what), number(t.Created), number(t.Changed), number(t.Same), number(t.LeftOut), failed}
	}
	head := []string{"WHAT", "CREATED", "CHANGED", "SAME", "LEFT OUT", "FAILED"}
	return printer.list(r, head, slices.Values([]row{
		line("namespaces", r.Namespaces), line("services", r.Services),
		line("clusters", r.Clusters), line("instances", r.Instances),
	}))
}
