package nacos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/internal/nacosclient"
	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/registry"
)

// closeTimeout bounds Close (C-R4).
const closeTimeout = 2 * time.Second

// Source is a [discovery.Source] over a Nacos registry; with push it is a
// [discovery.Notifier] too. It is safe for concurrent use.
type Source struct {
	client    *nacosclient.Client
	ownClient bool
	// push is nil when it is off.
	push *receiver

	// ctx ends with the source.
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	notify func(discovery.Listing)
	// fetched holds when the services were asked for last, by grouped name: only
	// they may be pushed. sweepAt is how many names there may be until those that
	// nobody asks for any more are looked for.
	fetched map[string]map[registry.ServiceID]time.Time
	sweepAt int
}

const (
	// expectedFor is how long a service may be pushed after it was asked for; a
	// registry pushes for seconds.
	expectedFor = 10 * time.Minute
	// minSweep keeps small numbers from being looked through.
	minSweep = 1024
)

var (
	_ discovery.Source   = (*Source)(nil)
	_ discovery.Notifier = (*Source)(nil)
)

// NewSource returns a source. Without push it does not touch the network. With
// push it opens the socket, after it asked an address server where there is one,
// and an error of that is an error here.
func NewSource(o Options) (*Source, error) {
	if err := o.Push.validate(); err != nil {
		return nil, fmt.Errorf("nacos source: %w", err)
	}
	client, own, err := o.Open(o.Logger)
	if err != nil {
		return nil, fmt.Errorf("nacos source: %w", err)
	}
	s := &Source{client: client, ownClient: own, fetched: make(map[string]map[registry.ServiceID]time.Time), sweepAt: minSweep}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if o.Push.Enabled {
		logger := o.Logger
		if logger == nil {
			logger = slog.New(slog.DiscardHandler)
		}
		// The address to be pushed to is chosen by the route to the registry, so the
		// servers have to be known.
		if err = client.Ready(s.ctx); err == nil {
			s.push, err = listen(o.Push, client.Hosts, s.pushed, logger)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("nacos source: %w", err), s.Close())
		}
	}
	return s, nil
}

// Name implements [discovery.Source].
func (s *Source) Name() string { return "nacos" }

// Fetch implements [discovery.Source]: the instances in all clusters, whatever
// their health, and how long the registry wants them to be used. Disabled ones
// are left out by the registry.
func (s *Source) Fetch(ctx context.Context, service registry.ServiceID) (discovery.Listing, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return discovery.Listing{}, err
	}
	defer end()
	id := s.client.Resolve(service)
	udpPort, clientIP := 0, ""
	if s.push != nil {
		s.expect(id)
		udpPort, clientIP = s.push.port, s.push.advertise
	}
	list, err := s.client.List(ctx, id, udpPort, clientIP)
	if err != nil {
		return discovery.Listing{}, s.explain(err)
	}
	return listing(id, list), nil
}

// Services implements [discovery.Source].
func (s *Source) Services(ctx context.Context, namespace, group string) ([]string, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	names, err := s.client.Services(ctx, namespace, group)
	if err != nil {
		return nil, s.explain(err)
	}
	return names, nil
}

// Notify implements [discovery.Notifier]. Without push f is never called.
func (s *Source) Notify(f func(discovery.Listing)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = f
}

// Close implements [discovery.Source].
func (s *Source) Close() error {
	s.cancel()
	var errs []error
	if s.push != nil {
		errs = append(errs, s.push.close())
	}
	if s.ownClient {
		errs = append(errs, s.client.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close nacos source: %w", err)
	}
	return nil
}

// begin has a call end with the source.
func (s *Source) begin(ctx context.Context) (_ context.Context, end func(), _ error) {
	if s.ctx.Err() != nil {
		return nil, nil, discovery.ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }, nil
}

// explain gives the errors of a closed client or source their public name.
func (s *Source) explain(err error) error {
	if errors.Is(err, nacosclient.ErrClosed) || s.ctx.Err() != nil {
		return fmt.Errorf("%w: %w", discovery.ErrClosed, err)
	}
	return err
}

// expect admits pushes of a service, from before it is asked for: the first
// push can overtake the answer.
func (s *Source) expect(id registry.ServiceID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	ids := s.fetched[id.Grouped()]
	if ids == nil {
		s.sweep(now)
		ids = make(map[registry.ServiceID]time.Time)
		s.fetched[id.Grouped()] = ids
	}
	ids[id] = now
}

// sweep forgets what nobody asks for any more, so that made-up names do not pile
// up. The lock is held.
func (s *Source) sweep(now time.Time) {
	if len(s.fetched) < s.sweepAt {
		return
	}
	for name, ids := range s.fetched {
		maps.DeleteFunc(ids, func(_ registry.ServiceID, asked time.Time) bool { return now.Sub(asked) > expectedFor })
		if len(ids) == 0 {
			delete(s.fetched, name)
		}
	}
	s.sweepAt = max(minSweep, 2*len(s.fetched))
}

// pushed hands on a pushed list. It is only told of a service that was asked
// for, in all clusters as it was asked for. A datagram names no namespace: where
// two namespaces have a service of the name, the list could be either's and is
// left to the next fetch.
func (s *Source) pushed(list wire.ServiceList) error {
	name, err := wire.ParseServiceName(list.Name, "")
	if err != nil {
		return err
	}
	s.mu.Lock()
	notify, ids := s.notify, s.fetched[name.String()]
	var id registry.ServiceID
	for id = range ids {
		break
	}
	several := len(ids) > 1
	s.mu.Unlock()
	switch {
	case id.Name == "":
		return fmt.Errorf("nobody asked for %s", name)
	case several:
		return fmt.Errorf("%s was asked for in several namespaces", name)
	case list.Clusters != "":
		return fmt.Errorf("the list of %s is of the clusters %q only", name, wire.Excerpt(list.Clusters))
	}
	if notify != nil {
		notify(listing(id, list))
	}
	return nil
}
