package consensus_test

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/state"
)

// A node keeps a state machine on disk; a backup brings it into another node.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "rollcall")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	node, err := consensus.Open(ctx, consensus.Options{Dir: dir, FSM: state.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = state.Propose(ctx, node, &state.CreateNamespace{Namespace: state.Namespace{ID: "dev", Name: "Development"}})
	fmt.Println("created:", err)
	_, err = state.Propose(ctx, node, &state.CreateNamespace{Namespace: state.Namespace{ID: "dev", Name: "Again"}})
	fmt.Println("created again:", err)
	var backup bytes.Buffer
	fmt.Println("backup:", node.Backup(ctx, &backup))
	fmt.Println("closed:", node.Close())

	copied := state.New()
	other, err := consensus.Open(ctx, consensus.Options{FSM: copied}) // in memory
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("restored:", other.Restore(ctx, &backup))
	dev, _ := copied.View().Namespace("dev")
	fmt.Println(dev.Name)
	fmt.Println("closed:", other.Close())
	// Output:
	// created: <nil>
	// created again: namespace dev exists already
	// backup: <nil>
	// closed: <nil>
	// restored: <nil>
	// Development
	// closed: <nil>
}
