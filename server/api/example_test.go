package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/api"
	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/projection"
	"github.com/rollcall-go/rollcall/server/push"
	"github.com/rollcall-go/rollcall/server/state"
)

// nobody is a push server for those who want none.
type nobody struct{}

func (nobody) Subscribe(push.Request) bool                              { return false }
func (nobody) Subscribers(func(wire.ServiceKey) bool) []push.Subscriber { return nil }
func (nobody) Counts() push.Counts                                      { return push.Counts{} }
func (nobody) Pending(int) []push.Pending                               { return nil }

// The API on an engine of one's own: all in memory, without UDP push.
func Example() {
	switches := naming.NewSwitches()
	store := naming.New(naming.Options{Switches: switches})
	defer func() { _ = store.Close() }()
	machine := state.New()
	node, err := consensus.Open(context.Background(), consensus.Options{FSM: machine})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Close() }()
	machine.OnApply(projection.New(store, switches, nil).Apply)
	users, err := auth.New(auth.Options{
		Users: projection.Users{State: machine}, Key: auth.NewKey(), Installation: node.Status().Node,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := api.New(api.Options{
		Store: store, Switches: switches, State: machine, Proposer: node, Push: nobody{}, Auth: users,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine := gin.New()
	a.Mount(engine)

	for _, request := range [][2]string{
		{"POST", "/v1/ns/instance?serviceName=orders&ip=192.0.2.7&port=8080"},
		{"POST", "/v1/ns/instance?serviceName=ledger&ip=192.0.2.8&port=8080&ephemeral=false"},
		{"GET", "/v1/ns/service/list?pageNo=1&pageSize=10"},
		{"GET", "/v1/ns/instance?serviceName=orders&ip=192.0.2.8&port=8080"},
	} {
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, httptest.NewRequest(request[0], request[1], http.NoBody))
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 ok
	// 200 ok
	// 200 {"doms":["ledger","orders"],"count":2}
	// 404 caused: no matched ip found!;
}
