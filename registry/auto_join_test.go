package registry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// absent is a registry that is not there.
type absent struct{}

var errAbsent = errors.New("nobody there")

func (absent) Register(context.Context, Registration) error          { return errAbsent }
func (absent) Deregister(context.Context, Registration) error        { return errAbsent }
func (absent) SetStatus(context.Context, Registration, Status) error { return errAbsent }
func (absent) Status(context.Context, Registration) (Status, error)  { return "", errAbsent }
func (absent) Close() error                                          { return nil }

// When Stop has returned, the goroutine of the attempts has ended, not only been
// told to.
func TestAR6_StopWaitsForTheAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			o := DefaultAutoOptions()
			o.FailFast = false
			a, err := NewAutoServiceRegistration(AutoServiceRegistrationParams{
				Options: o, ServiceRegistry: absent{},
				Registration: Registration{Instance: NewInstance(ServiceID{Name: "orders"}, "192.0.2.7", 8080)},
			})
			require.NoError(t, err)
			require.NoError(t, a.Start(t.Context()))
			time.Sleep(time.Minute)
			require.True(t, a.trying())
			require.NoError(t, a.Stop(t.Context()))
			require.False(t, a.trying())
		}
	})
}
