package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/api"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/push"
)

// nobody is a push server for those who want none.
type nobody struct{}

func (nobody) Subscribe(push.Request) bool                              { return false }
func (nobody) Subscribers(func(wire.ServiceKey) bool) []push.Subscriber { return nil }

// The API on an engine of one's own, without UDP push.
func Example() {
	switches := naming.NewSwitches()
	store := naming.New(naming.Options{Switches: switches})
	defer func() { _ = store.Close() }()
	a, err := api.New(api.Options{Store: store, Switches: switches, Push: nobody{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine := gin.New()
	a.Mount(engine)

	for _, request := range [][2]string{
		{"POST", "/v1/ns/instance?serviceName=orders&ip=192.0.2.7&port=8080"},
		{"GET", "/v1/ns/service/list?pageNo=1&pageSize=10"},
		{"GET", "/v1/ns/instance?serviceName=orders&ip=192.0.2.8&port=8080"},
	} {
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, httptest.NewRequest(request[0], request[1], http.NoBody))
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 ok
	// 200 {"doms":["orders"],"count":1}
	// 404 caused: no matched ip found!;
}
