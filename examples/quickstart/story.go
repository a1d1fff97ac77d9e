package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// chapter tells one part of the story and checks what it claims.
type chapter struct {
	title string
	tell  func(context.Context, *fleet) error
}

// tell runs the chapters; a claim that does not hold ends the story.
func tell(ctx context.Context, f *fleet) error {
	began := time.Now()
	for i, c := range []chapter{
		{"A registry server, three instances of user-service and an order-service start", arrive},
		{"order-service calls http://user-service/users/42", callByName},
		{"bob leaves politely, under traffic", leavePolitely},
		{"carl is killed (SIGKILL) without a goodbye, under traffic", dieSilently},
		{"Everything stops", depart},
	} {
		fmt.Printf("\n%d. %s.\n", i+1, c.title)
		if err := c.tell(ctx, f); err != nil {
			return fmt.Errorf("chapter %d, %q: %w", i+1, c.title, err)
		}
	}
	fmt.Printf("\nThe story held, in %v.\n", time.Since(began).Round(100*time.Millisecond))
	return nil
}

// noneFailed claims that no call failed, and shows the first that did.
func (t *tally) noneFailed(why string) error {
	err := claim(t.total() > 0 && len(t.failed) == 0, "no call failed%s", why)
	if err != nil && len(t.failed) > 0 {
		err = fmt.Errorf("%w; the first: %w", err, t.failed[0])
	}
	return err
}

// claim prints what was checked and makes an error of what did not hold.
func claim(holds bool, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if !holds {
		return errors.New("this did not hold: " + text)
	}
	fmt.Println("   ✓", text)
	return nil
}

func arrive(ctx context.Context, f *fleet) error {
	if err := f.startAll(ctx); err != nil {
		return err
	}
	fmt.Printf("   registry      %s\n   order-service %s\n", f.registryURL(), f.order.url())
	hosts, err := f.awaitInstances(ctx, 3)
	if err != nil {
		return err
	}
	fmt.Println("   The registry lists user-service:")
	for _, h := range hosts {
		fmt.Printf("     %s:%d  healthy=%t\n", h.IP, h.Port, h.Healthy)
	}
	bound := func(a *app) bool {
		return slices.ContainsFunc(hosts, func(h host) bool { return fmt.Sprintf("%s:%d", h.IP, h.Port) == a.Addr().String() })
	}
	if err := claim(bound(f.users[0]) && bound(f.users[1]), "each registered itself with the port it really got"); err != nil {
		return err
	}
	orders, err := f.list(ctx, "order-service")
	return errors.Join(err, claim(len(orders) == 1, "order-service is registered too"))
}

func callByName(ctx context.Context, f *fleet) error {
	t := newTally()
	for range 60 {
		t.call(ctx, f)
	}
	fmt.Println("  ", t)
	return errors.Join(
		t.noneFailed(""),
		claim(len(t.served) == 3, "all three instances had their share"),
	)
}

func leavePolitely(ctx context.Context, f *fleet) error {
	stopTraffic := f.traffic(ctx)
	err := f.users[1].stop()
	hosts, listErr := f.list(ctx, "user-service")
	if err := errors.Join(err, listErr); err != nil {
		stopTraffic()
		return err
	}
	err = claim(len(hosts) == 2, "it was out of the list when its stop returned")
	pause(ctx, time.Second)
	t := stopTraffic()
	fmt.Println("  ", t)
	return errors.Join(err, t.noneFailed(""))
}

func dieSilently(ctx context.Context, f *fleet) error {
	stopTraffic := f.traffic(ctx)
	killed := time.Now()
	if err := f.child.kill(); err != nil {
		stopTraffic()
		return err
	}
	dead, gone, err := f.awaitDeath(ctx, killed)
	t := stopTraffic()
	if err != nil {
		return err
	}
	fmt.Println("  ", t)
	return errors.Join(
		claim(dead < gone, "found dead after %v, taken out of the list after %v", dead, gone),
		t.noneFailed(": the ones that met the dead instance went to another"),
	)
}

// awaitDeath waits until one of two instances is listed as unhealthy and then no
// longer listed, and says how long after killed each of them was.
func (f *fleet) awaitDeath(ctx context.Context, killed time.Time) (dead, gone time.Duration, err error) {
	since := func() time.Duration { return time.Since(killed).Round(100 * time.Millisecond) }
	err = await(ctx, "carl to be found dead", func() (bool, error) {
		hosts, err := f.list(ctx, "user-service")
		return slices.ContainsFunc(hosts, func(h host) bool { return !h.Healthy }), err
	})
	if err != nil {
		return 0, 0, err
	}
	dead = since()
	_, err = f.awaitInstances(ctx, 1)
	return dead, since(), err
}

func depart(ctx context.Context, f *fleet) error {
	if err := errors.Join(f.order.stop(), f.users[0].stop()); err != nil {
		return err
	}
	users, err1 := f.list(ctx, "user-service")
	orders, err2 := f.list(ctx, "order-service")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if err := claim(len(users)+len(orders) == 0, "the registry is empty"); err != nil {
		return err
	}
	return f.registry.stop()
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
