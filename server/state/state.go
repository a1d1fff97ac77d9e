package state

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// State is the state machine. Commands are applied one after the other; views of
// the state are free.
type State struct {
	view atomic.Pointer[View]

	mu        sync.Mutex // held while anything changes and is told
	listeners []func(Change)
}

// New returns an empty state.
func New() *State {
	s := &State{}
	s.view.Store(newView())
	return s
}

// View returns the state as it is.
func (s *State) View() *View { return s.view.Load() }

// Result is what a command came to, beside an error.
type Result struct {
	// Changed says whether the state is another one.
	Changed bool
	// Instances are those that the command addressed and found or made, as they
	// are now; removed ones as they were.
	Instances []Instance
}

// Kind is what a change is about.
type Kind uint8

// Kinds of changes.
const (
	// ChangeAll: everything may be different.
	ChangeAll Kind = iota
	// ChangeInstances: persistent instances of a service.
	ChangeInstances
	// ChangeService: what was set about a service, or all of it when it was
	// deleted.
	ChangeService
	// ChangeCluster: what was set about a cluster.
	ChangeCluster
	// ChangeNamespaces: the namespaces.
	ChangeNamespaces
	// ChangeAuth: users, roles or permissions.
	ChangeAuth
	// ChangeSwitches: the switches.
	ChangeSwitches
	// ChangeSecrets: the secrets.
	ChangeSecrets
)

// Change says what is different in a new view.
type Change struct {
	Kind Kind
	// View is the state after the change.
	View *View
	// Service is whose instances, settings or cluster.
	Service wire.ServiceKey
	// Cluster is which cluster of it.
	Cluster string
	// Instances are which of its instances, with ChangeInstances. One that is not
	// in the view was removed.
	Instances []InstanceKey
}

// OnApply adds a function that is told of every change in order, after the view
// was published; first, before OnApply returns, that everything changed, so that
// nothing is missed. It runs on the goroutine that applies and must not block or
// apply anything.
func (s *State) OnApply(f func(Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, f)
	f(Change{Kind: ChangeAll, View: s.View()})
}

func (s *State) tell(c Change) {
	for _, f := range s.listeners {
		f(c)
	}
}

// Apply applies an encoded command. The value is a [Result]. A command that the
// state does not allow is an error that wraps one of this package's kinds and
// changes nothing, and so is one that is not well formed. [UnknownCommandError]
// says that it must be kept for a newer version.
func (s *State) Apply(command []byte) (any, error) {
	c, err := decode(command)
	if err != nil {
		return Result{}, err
	}
	return s.apply(c)
}

func (s *State) apply(c Command) (Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.View()
	next.applied++
	result, change, err := c.apply(&next)
	if err != nil || !result.Changed {
		// What the command did before it was refused is forgotten with next.
		same := *s.View()
		same.applied = next.applied
		s.view.Store(&same)
		return result, err
	}
	s.view.Store(&next)
	change.View = &next
	s.tell(change)
	return result, nil
}

// Check says whether Apply would know the command and whether it is well formed.
// The state is not asked.
func (s *State) Check(command []byte) error {
	c, err := decode(command)
	if err != nil {
		return err
	}
	return c.check()
}

// Snapshot returns the state as it is, to be written.
func (s *State) Snapshot() (io.WriterTo, error) { return s.View(), nil }

// Restore replaces the state by what [View.WriteTo] wrote. When it fails, the
// state is as before.
func (s *State) Restore(r io.Reader) error {
	v, err := readView(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.Store(v)
	s.tell(Change{Kind: ChangeAll, View: v})
	return nil
}

// CheckSnapshot says whether Restore would succeed.
func (s *State) CheckSnapshot(r io.Reader) error {
	_, err := readView(r)
	return err
}
