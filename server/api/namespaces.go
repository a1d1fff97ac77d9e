package api

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/state"
)

// namespace is an entry of the console's list.
type namespace struct {
	Namespace   string  `json:"namespace"`
	ShowName    string  `json:"namespaceShowName"`
	Quota       int     `json:"quota"`
	ConfigCount int     `json:"configCount"`
	Type        int     `json:"type"`
	Desc        *string `json:"namespaceDesc,omitempty"`
}

const (
	publicType = 0
	customType = 2
	quota      = 200 // of configurations, of which there are none
)

// publicEntry has an empty id here and nowhere else.
var publicEntry = namespace{"", wire.PublicNamespace, quota, 0, publicType, nil}

// namespaces lists the namespaces; shows one; or says whether an id is taken.
func (a *API) namespaces(c *call) (answer, error) {
	if c.StrictBool("checkNamespaceIdExist") {
		_, exists := a.findNamespace(c.Get("customNamespaceId"))
		return jsonOf(exists)
	}
	if c.Get("show") == "all" {
		return a.oneNamespace(c)
	}
	list := []namespace{publicEntry}
	for _, n := range a.allNamespaces() {
		list = append(list, namespace{n.ID, n.Name, quota, 0, customType, nil})
	}
	return enveloped(list)
}

// allNamespaces are those that were created and those in use without that,
// sorted by id, but for the public one.
func (a *API) allNamespaces() []state.Namespace {
	var all []state.Namespace
	created := make(map[string]bool)
	for n := range a.state.View().Namespaces() {
		all = append(all, *n)
		created[n.ID] = true
	}
	for _, id := range a.store.Namespaces() {
		if id != wire.PublicNamespace && !created[id] {
			all = append(all, state.Namespace{ID: id, Name: id})
		}
	}
	slices.SortFunc(all, func(x, y state.Namespace) int { return strings.Compare(x.ID, y.ID) })
	return all
}

func (a *API) findNamespace(id string) (state.Namespace, bool) {
	all := a.allNamespaces()
	i, found := slices.BinarySearchFunc(all, id, func(n state.Namespace, id string) int { return strings.Compare(n.ID, id) })
	if !found {
		return state.Namespace{}, false
	}
	return all[i], true
}

func (a *API) oneNamespace(c *call) (answer, error) {
	id := c.Get("namespaceId")
	if id == "" || id == wire.PublicNamespace {
		shown, desc := publicEntry, ""
		shown.Desc = &desc
		return jsonOf(shown)
	}
	n, exists := a.findNamespace(id)
	if !exists {
		return answer{}, notFoundf("no namespace %s found!", wire.Excerpt(id))
	}
	return jsonOf(namespace{n.ID, n.Name, quota, 0, customType, &n.Description})
}

// maxNamespaceText bounds what is stored of a name or description, as Nacos'
// database does.
const maxNamespaceText = 256

// createNamespace answers whether the namespace was created: an id that cannot
// be or is taken is no error in Nacos' eyes.
func (a *API) createNamespace(c *call) (answer, error) {
	n, err := c.namespaceTexts("namespaceName")
	if err != nil {
		return answer{}, err
	}
	n.ID = cmp.Or(c.Get("customNamespaceId"), uuid.NewString())
	if !wire.CanCreateNamespace(n.ID) {
		return jsonOf(false)
	}
	_, err = a.propose(c, &state.CreateNamespace{Namespace: n})
	if errors.Is(err, state.ErrNamespaceExists) {
		return jsonOf(false)
	}
	return changed(err)
}

// namespaceTexts reads name and description.
func (c *call) namespaceTexts(name string) (state.Namespace, error) {
	text, err := c.Required(name)
	if err != nil {
		return state.Namespace{}, err
	}
	n := state.Namespace{Name: text, Description: c.Get("namespaceDesc")}
	if len(n.Name) > maxNamespaceText || len(n.Description) > maxNamespaceText {
		return n, wire.BadRequestf("a namespace's name and description have at most %d bytes", maxNamespaceText)
	}
	return n, nil
}

// updateNamespace gives a namespace another name and description. One that is
// merely in use is created by that.
func (a *API) updateNamespace(c *call) (answer, error) {
	n, err := c.namespaceTexts("namespaceShowName")
	if err != nil {
		return answer{}, err
	}
	if n.ID, err = c.Required("namespace"); err != nil {
		return answer{}, err
	}
	if _, exists := a.findNamespace(n.ID); !exists {
		return answer{}, notFoundf("no namespace %s found!", wire.Excerpt(n.ID))
	}
	_, err = a.propose(c, &state.UpdateNamespace{Namespace: n})
	if errors.Is(err, state.ErrNamespaceNotFound) { // it is in use and was never created
		_, err = a.propose(c, &state.CreateNamespace{Namespace: n})
	}
	return changed(err)
}

// deleteNamespace removes the label. The services in it stay, and with them the
// namespace in the list.
func (a *API) deleteNamespace(c *call) (answer, error) {
	id, err := c.Required("namespaceId")
	if err != nil {
		return answer{}, err
	}
	_, err = a.propose(c, &state.DeleteNamespace{ID: id})
	return changed(err)
}

// changed is the console's answer to a change.
func changed(err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return jsonOf(true)
}
