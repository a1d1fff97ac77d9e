package state_test

import (
	"bytes"
	"fmt"

	"github.com/rollcall-go/rollcall/server/state"
)

// A command is encoded, ordered by something, and applied on every node.
func ExampleState() {
	command, err := state.Encode(&state.CreateNamespace{Namespace: state.Namespace{ID: "dev", Name: "Development"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(command))

	s := state.New()
	s.OnApply(func(c state.Change) {
		if c.Kind == state.ChangeNamespaces {
			dev, _ := c.View.Namespace("dev")
			fmt.Println("created:", dev.Name)
		}
	})
	if _, err := s.Apply(command); err != nil {
		fmt.Println(err)
	}
	_, err = s.Apply(command)
	fmt.Println(err)

	var snapshot bytes.Buffer
	if _, err := s.View().WriteTo(&snapshot); err != nil {
		fmt.Println(err)
	}
	fmt.Println(state.New().Restore(&snapshot))
	// Output:
	// {"op":"namespace.create","v":1,"body":{"id":"dev","name":"Development"}}
	// created: Development
	// namespace dev exists already
	// <nil>
}
