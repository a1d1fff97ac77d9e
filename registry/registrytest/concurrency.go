package registrytest

import (
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

// together runs f(0) to f(n-1) at the same time and returns their errors.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errs
}

func requireNone(f *fixture, errs []error) {
	f.Helper()
	for _, err := range errs {
		require.NoError(f, err)
	}
}

func concurrentKeys(f *fixture) {
	all := make([]registry.Registration, 16)
	for i := range all {
		all[i] = f.registration(i)
	}
	requireNone(f, together(len(all), func(i int) error { return f.reg.Register(f.ctx, all[i]) }))
	f.listedOnly(all...)
	requireNone(f, together(len(all), func(i int) error { return f.reg.Deregister(f.ctx, all[i]) }))
	f.listedOnly()
}

func concurrentSameKey(f *fixture) {
	r := f.registration(1)
	requireNone(f, together(3, func(int) error { return f.reg.Register(f.ctx, r) }))
	f.listedOnly(r)
	require.NoError(f, f.reg.Deregister(f.ctx, r))
	f.listedOnly()
}

func concurrentMix(f *fixture) {
	kept, flapping := f.registration(1), f.registration(2)
	f.register(kept)
	requireNone(f, together(12, func(i int) error {
		switch i % 4 {
		case 0:
			return f.reg.Register(f.ctx, flapping)
		case 1:
			return f.reg.Deregister(f.ctx, flapping)
		case 2:
			return f.reg.SetStatus(f.ctx, kept, registry.StatusUp)
		default:
			_, err := f.reg.Status(f.ctx, kept)
			return err
		}
	}))
	require.NoError(f, f.reg.Deregister(f.ctx, flapping))
	f.listedOnly(kept)
}
