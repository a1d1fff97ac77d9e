package nacos_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/internal/testutil"
	"github.com/rollcall-go/rollcall/registry"
)

// onUpdate plays a fault for updates only.
func onUpdate(f testutil.Fault) func(testutil.Request) *testutil.Fault {
	return func(r testutil.Request) *testutil.Fault {
		if r.Is(http.MethodPut, "/ns/instance") {
			return &f
		}
		return nil
	}
}

// The server takes the instance out of traffic and fails to say so: what it was not
// believed to have done is undone.
func TestCR5_AChangeInDoubtIsSettled(t *testing.T) {
	for name, fault := range map[string]testutil.Fault{
		"500": {Status: 500}, "reset": {Reset: true}, "no answer": {Delay: time.Hour}, "a page": {Status: 200, Body: "<html>"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testutil.NewCluster(t, 1)
				r := newRegistry(t, c, nil)
				want := registration()
				require.NoError(t, r.Register(t.Context(), want))
				c.Nodes[0].SetFault(onUpdate(fault))
				require.Error(t, r.SetStatus(t.Context(), want, registry.StatusDown))
				c.Nodes[0].Put("public", service, testutil.FakeInstance{IP: want.IP, Port: want.Port, Weight: 1, Ephemeral: true})
				c.Nodes[0].SetFault(nil)
				time.Sleep(2 * period)
				requireStored(t, c.Nodes[0], want)
				status, err := r.Status(t.Context(), want)
				require.NoError(t, err)
				require.Equal(t, registry.StatusUp, status)

				c.Nodes[0].ForgetRequests()
				time.Sleep(4 * period)
				require.Empty(t, c.Nodes[0].Requests(http.MethodPut, "/ns/instance"), "it is settled")
			})
		})
	}
}

// A registration that was to replace another may have done so.
func TestCR5_AReplacementInDoubtIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		c.Nodes[0].SetFault(func(q testutil.Request) *testutil.Fault {
			if q.Is(http.MethodPost, "/ns/instance") {
				return &testutil.Fault{Status: 500}
			}
			return nil
		})
		heavier := registration()
		heavier.Weight = 2
		require.Error(t, r.Register(t.Context(), heavier))
		c.Nodes[0].Put("public", service, testutil.FakeInstance{
			IP: heavier.IP, Port: heavier.Port, Weight: 2, Healthy: true, Enabled: true, Ephemeral: true,
		})
		time.Sleep(2 * period)
		requireStored(t, c.Nodes[0], registration())
	})
}

func TestCR5_ARefusedChangeIsInNoDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testutil.NewCluster(t, 1)
		r := newRegistry(t, c, nil)
		require.NoError(t, r.Register(t.Context(), registration()))
		c.Nodes[0].SetFault(onUpdate(testutil.Fault{Status: 400}))
		heavier := registration()
		heavier.Weight = 2
		require.Error(t, r.Update(t.Context(), heavier))
		c.Nodes[0].SetFault(nil)
		c.Nodes[0].ForgetRequests()
		time.Sleep(4 * period)
		require.NotEmpty(t, c.Nodes[0].Beats())
		require.Empty(t, c.Nodes[0].Requests(http.MethodPut, "/ns/instance"))
	})
}
