// Package transfer takes what is persistent from one registry to another over
// the API of both.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rollcall-go/rollcall/internal/adminclient"
	"github.com/rollcall-go/rollcall/internal/wire"
)

// Options of a transfer.
type Options struct {
	// From is read, To is written.
	From, To *adminclient.Client
	// Namespaces are the ids of those to take; empty is all.
	Namespaces []string
	// DryRun writes nothing and reports what would be written.
	DryRun bool
	// Progress is told after each service; nil tells nobody.
	Progress func(Progress)
	// Problem is told of everything that could not be taken over; nil tells
	// nobody, and the report still counts it.
	Problem func(error)
}

// Progress is how far a namespace is.
type Progress struct {
	Namespace string
	Done, Of  int
}

// Tally counts what became of things of one kind.
type Tally struct {
	Created int `json:"created"`
	Changed int `json:"changed"`
	// Same were there and need nothing.
	Same int `json:"same"`
	// LeftOut are those that are not persistent: their clients bring them, or what
	// is in them.
	LeftOut int `json:"leftOut"`
	Failed  int `json:"failed"`
}

// Report is what a transfer did, or would do.
type Report struct {
	Namespaces Tally `json:"namespaces"`
	Services   Tally `json:"services"`
	Clusters   Tally `json:"clusters"`
	Instances  Tally `json:"instances"`
	// WithoutInstances are the services that have neither instances nor settings at
	// the source: a target that cleans up empty services removes them again.
	WithoutInstances int `json:"withoutInstances"`
}

// Failed is how much could not be taken over.
func (r *Report) Failed() int {
	return r.Namespaces.Failed + r.Services.Failed + r.Clusters.Failed + r.Instances.Failed
}

// run is one transfer.
type run struct {
	Options
	report Report
}

// Run takes everything over that can be. What fails by itself is counted and
// told, and the rest goes on; the error says that it could not go on, because a
// registry does not answer, refuses the caller, or ctx has ended.
func Run(ctx context.Context, o Options) (Report, error) {
	r := &run{Options: o}
	if r.Progress == nil {
		r.Progress = func(Progress) {}
	}
	if r.Problem == nil {
		r.Problem = func(error) {}
	}
	err := r.all(ctx)
	return r.report, err
}

func (r *run) all(ctx context.Context) error {
	found, err := r.From.Namespaces(ctx)
	if err != nil {
		return fmt.Errorf("list the namespaces to take: %w", err)
	}
	known, err := r.To.Namespaces(ctx)
	if err != nil {
		return fmt.Errorf("list the namespaces that are there: %w", err)
	}
	for _, id := range r.Namespaces {
		if !slices.ContainsFunc(found, func(n adminclient.Namespace) bool { return naming(n) == id }) {
			return fmt.Errorf("namespace %s: %w", id, adminclient.ErrNotFound)
		}
	}
	for _, n := range found {
		if len(r.Namespaces) > 0 && !slices.Contains(r.Namespaces, naming(n)) {
			continue
		}
		if err := r.namespace(ctx, n, known); err != nil {
			return err
		}
		if err := r.services(ctx, naming(n)); err != nil {
			return err
		}
	}
	return nil
}

// naming is the id of a namespace as the naming part knows it.
func naming(n adminclient.Namespace) string {
	if n.ID == "" {
		return wire.PublicNamespace
	}
	return n.ID
}

// namespace takes name and description over.
func (r *run) namespace(ctx context.Context, n adminclient.Namespace, known []adminclient.Namespace) error {
	if naming(n) == wire.PublicNamespace {
		return nil // is everywhere
	}
	var err error
	if n.Description, err = r.From.NamespaceDescription(ctx, n.ID); err != nil {
		return r.failed(&r.report.Namespaces, "namespace "+n.ID, err)
	}
	at := slices.IndexFunc(known, func(k adminclient.Namespace) bool { return k.ID == n.ID })
	if at < 0 && n.Name == n.ID && n.Description == "" && !wire.CanCreateNamespace(n.ID) {
		r.report.Namespaces.LeftOut++ // merely in use, which the services taken over make it again
		return nil
	}
	if at < 0 {
		return r.write(&r.report.Namespaces, &r.report.Namespaces.Created, "namespace "+n.ID,
			func() error { return r.To.PutNamespace(ctx, n, false) })
	}
	there := known[at]
	if there.Description, err = r.To.NamespaceDescription(ctx, n.ID); err != nil {
		return r.failed(&r.report.Namespaces, "namespace "+n.ID, err)
	}
	if there == n {
		r.report.Namespaces.Same++
		return nil
	}
	return r.write(&r.report.Namespaces, &r.report.Namespaces.Changed, "namespace "+n.ID,
		func() error { return r.To.PutNamespace(ctx, n, true) })
}

// write makes a change, unless nothing is to be changed, and counts it.
func (r *run) write(tally *Tally, counter *int, what string, change func() error) error {
	if !r.DryRun {
		if err := change(); err != nil {
			return r.failed(tally, what, err)
		}
	}
	*counter++
	return nil
}

// failed counts and tells a failure, and returns one after which there is no use
// in going on.
func (r *run) failed(tally *Tally, what string, err error) error {
	err = fmt.Errorf("%s: %w", what, err)
	if errors.Is(err, adminclient.ErrUnreachable) || errors.Is(err, adminclient.ErrRefused) || errors.Is(err, context.Canceled) {
		return err
	}
	tally.Failed++
	r.Problem(err)
	return nil
}
