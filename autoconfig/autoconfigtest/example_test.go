package autoconfigtest_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig/autoconfigtest"
	"github.com/rollcall-go/rollcall/loadbalance"
)

// greeting is an application: it greets the user whose name another service knows.
func greeting(e *gin.Engine, client *loadbalance.HTTPClient) {
	e.GET("/greeting/:id", func(c *gin.Context) {
		resp, err := client.Get("http://user-service/users/" + c.Param("id"))
		if err != nil {
			c.String(http.StatusBadGateway, "nobody to ask")
			return
		}
		defer resp.Body.Close()
		name, _ := io.ReadAll(resp.Body)
		c.String(http.StatusOK, "Hello, "+string(name))
	})
}

// TestGreeting tests it against a stand-in for the other service.
func TestGreeting(t *testing.T) {
	fleet := autoconfigtest.NewFleet()
	users := fleet.Provide(t, "user-service", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "Ann")
	}))
	app := fleet.Start(t, fx.Invoke(greeting))

	if _, body := app.Get(t, "/greeting/42"); body != "Hello, Ann" {
		t.Errorf("greeted with %q", body)
	}
	fleet.Remove(t, users)
	if status, _ := app.Get(t, "/greeting/42"); status != http.StatusBadGateway {
		t.Errorf("status %d without a user-service", status)
	}
}

func Example() {
	// go test runs TestGreeting above.
}
