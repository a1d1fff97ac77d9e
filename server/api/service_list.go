package api

import (
	"math"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
	"github.com/rollcall-go/rollcall/server/naming"
	"github.com/rollcall-go/rollcall/server/push"
)

// page is a part of a list; its number counts from 1.
type page struct{ number, size int }

// readPage reads pageNo and pageSize. A number that is no number, or below 1, is
// the first page; a size below 1 is an error, since no answer to it could be
// what was meant (SB-10).
func (c *call) readPage() (page, error) {
	p := page{max(c.LenientCount("pageNo"), 1), c.LenientCount("pageSize")}
	if p.size < 1 {
		return p, wire.BadRequest("Param 'pageSize' must be a number of 1 or more.")
	}
	return p, nil
}

// readExactPage reads pageNo and pageSize where both must be there and be
// numbers; the first page has the given one.
func (c *call) readExactPage(first int) (page, error) {
	number, err := c.RequiredCount("pageNo")
	if err != nil {
		return page{}, err
	}
	size, err := c.RequiredCount("pageSize")
	if err != nil {
		return page{}, err
	}
	if size < 1 {
		return page{}, wire.BadRequest("Param 'pageSize' must be a number of 1 or more.")
	}
	return page{max(number-first+1, 1), size}, nil
}

// of returns the page's part of a list of n elements, empty past its end.
func (p page) of(n int) (from, to int) {
	if p.number-1 > math.MaxInt/p.size {
		return n, n
	}
	from = min((p.number-1)*p.size, n)
	return from, from + min(p.size, n-from)
}

// allGroups as groupName lists the services of every group, by their grouped
// names.
const allGroups = "*"

// listServices lists the names of services; the count is of all pages (SB-10).
func (a *API) listServices(c *call) (answer, error) {
	for _, name := range []string{"pageNo", "pageSize"} {
		if _, err := c.Required(name); err != nil {
			return answer{}, err
		}
	}
	p, err := c.readPage()
	if err != nil {
		return answer{}, err
	}
	namespace, err := c.Namespace()
	if err != nil {
		return answer{}, err
	}
	selector, err := naming.ParseListSelector(c.Get("selector"))
	if err != nil {
		return answer{}, err
	}
	group := c.Get("groupName")
	if group != allGroups {
		if group, err = wire.ParseGroup(group); err != nil {
			return answer{}, err
		}
	}
	var all []*naming.Revision
	for _, r := range a.store.Services(namespace) {
		if (group == allGroups || group == r.Key().Group) && selector.Match(r) {
			all = append(all, r)
		}
	}
	names := []string{}
	for _, r := range a.walks.services(a.walks.of(c, p, "namespaceId", "groupName", "selector"), p, all) {
		if group == allGroups {
			names = append(names, r.GroupedName())
		} else {
			names = append(names, r.Key().Name)
		}
	}
	return jsonOf(struct {
		Doms  []string `json:"doms"`
		Count int      `json:"count"`
	}{names, len(all)})
}

// subscriber is one push target as operators see it.
type subscriber struct {
	AddrStr     string `json:"addrStr"`
	Agent       string `json:"agent"`
	App         string `json:"app"`
	IP          string `json:"ip"`
	NamespaceID string `json:"namespaceId"`
	ServiceName string `json:"serviceName"`
}

// listSubscribers lists the push targets of the services whose group and name
// contain the given ones.
func (a *API) listSubscribers(c *call) (answer, error) {
	k, err := c.ServiceKey()
	if err != nil {
		return answer{}, err
	}
	p := page{1, 1000}
	if c.Get("pageSize") != "" {
		if p, err = c.readPage(); err != nil {
			return answer{}, err
		}
	} else {
		p.number = max(c.LenientCount("pageNo"), 1)
	}
	all := a.push.Subscribers(func(s wire.ServiceKey) bool {
		return s.Namespace == k.Namespace && strings.Contains(s.Group, k.Group) && strings.Contains(s.Name, k.Name) &&
			a.mayRead(c, s)
	})
	from, to := p.of(len(all))
	subscribers := make([]subscriber, 0, to-from)
	for _, s := range all[from:to] {
		subscribers = append(subscribers, subscriberOf(s))
	}
	return jsonOf(struct {
		Subscribers []subscriber `json:"subscribers"`
		Count       int          `json:"count"`
	}{subscribers, len(all)})
}

func subscriberOf(s push.Subscriber) subscriber {
	app := s.App
	if app == "" {
		app = "unknown"
	}
	return subscriber{
		AddrStr:     s.Addr.String(),
		Agent:       s.Agent,
		App:         app,
		IP:          s.Addr.Addr().String(),
		NamespaceID: s.Service.Namespace,
		ServiceName: s.Service.ServiceName.String(),
	}
}
