package auth_test

import (
	"context"
	"fmt"

	"github.com/rollcall-go/rollcall/server/auth"
)

// single is a registry with one user.
type single struct{ hash string }

func (s single) PasswordHash(user string) (string, bool) { return s.hash, user == "shop" }
func (s single) Roles(string) []string                   { return []string{"shop"} }
func (s single) Permissions(string) []auth.Permission {
	return []auth.Permission{{Resource: "public:*:*", Action: "r"}}
}

func Example() {
	hash, err := auth.HashPassword("a password of its own")
	if err != nil {
		panic(err)
	}
	a, err := auth.New(auth.Options{Users: single{hash}, Key: auth.NewKey(), Installation: "example"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	session, err := a.Login(ctx, auth.Credentials{Username: "shop", Password: "a password of its own"})
	if err != nil {
		panic(err)
	}
	who, err := a.Authenticate(ctx, auth.Credentials{Authorization: "Bearer " + session.Token})
	orders := auth.NamingResource("public", "DEFAULT_GROUP", "orders")
	fmt.Println(who.Name, err)
	fmt.Println(a.Authorize(who, orders, auth.Read))
	fmt.Println(a.Authorize(who, orders, auth.Write))
	// Output:
	// shop <nil>
	// <nil>
	// authorization failed!
}
