package api

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// names asks for a page of services and returns their names, but for those that
// come and go.
func (f *fixture) names(request string, pairs ...string) (names []string) {
	f.t.Helper()
	var reply struct {
		Doms        []string
		ServiceList []struct{ Name string }
	}
	require.NoError(f.t, json.Unmarshal([]byte(f.wantStatus(200, request, pairs...)), &reply))
	for _, s := range reply.ServiceList {
		reply.Doms = append(reply.Doms, s.Name)
	}
	for _, name := range reply.Doms {
		if strings.HasPrefix(name, "s") {
			names = append(names, name)
		}
	}
	return names
}

// register25 registers the services s00 to s24.
func (f *fixture) register25() (all []string) {
	for i := range 25 {
		all = append(all, fmt.Sprintf("s%02d", i))
		f.want("200 ok", "POST instance", "serviceName", all[i], "ip", "192.0.2.7", "port", "80")
	}
	return all
}

func TestSB10_AWalkMeetsEveryServiceOnce(t *testing.T) {
	for _, request := range []string{"GET service/list", "GET catalog/services"} {
		for _, churn := range [][2]string{{"POST", "DELETE"}, {"DELETE", "POST"}} {
			t.Run(request+" "+churn[0], func(t *testing.T) {
				f := newFixture(t)
				all := f.register25()
				if churn[0] == "DELETE" {
					f.want("200 ok", "POST service", "serviceName", "noise")
				}
				var walked []string
				for page := range 3 {
					walked = append(walked, f.names(request, "pageNo", fmt.Sprint(page+1), "pageSize", "10")...)
					f.want("200 ok", churn[page%2]+" service", "serviceName", "noise") // it comes before all others
				}
				require.Equal(t, all, walked)
				require.Empty(t, f.names(request, "pageNo", "4", "pageSize", "10"))
			})
		}
	}
}

func TestSB10_AWalkMeetsEveryInstanceOnce(t *testing.T) {
	f := newFixture(t)
	var all []string
	for i := range 25 {
		ip, port := []string{"192.0.2.10", "192.0.2.7", "2001:db8::1"}[i/10], fmt.Sprint(1+i%10*7)
		if i%5 == 0 {
			all = append(all, ip+" "+port+" false")
			f.want("200 ok", "POST instance", persistent("serviceName", "walked", "ip", ip, "port", port)...)
		}
		all = append(all, ip+" "+port+" true")
		f.want("200 ok", "POST instance", "serviceName", "walked", "ip", ip, "port", port)
	}
	var walked []string
	for page := range 7 {
		var reply struct{ List []catalogInstance }
		require.NoError(t, json.Unmarshal([]byte(f.wantStatus(200, "GET catalog/instances", "serviceName", "walked",
			"clusterName", "DEFAULT", "pageNo", fmt.Sprint(page+1), "pageSize", "5")), &reply))
		for _, i := range reply.List {
			if i.IP != "192.0.2.1" {
				walked = append(walked, fmt.Sprint(i.IP, " ", i.Port, " ", i.Ephemeral))
			}
		}
		f.want("200 ok", []string{"POST", "DELETE"}[page%2]+" instance", "serviceName", "walked", "ip", "192.0.2.1", "port", "1")
	}
	require.Equal(t, all, walked)
}

func TestSB10_WhatIsNoNextPageIsCounted(t *testing.T) {
	for name, ask := range map[string]func(f *fixture) []string{
		"another size": func(f *fixture) []string {
			return f.names("GET service/list", "pageNo", "3", "pageSize", "5")
		},
		"not the next": func(f *fixture) []string {
			f.names("GET service/list", "pageNo", "2", "pageSize", "10")
			return f.names("GET service/list", "pageNo", "2", "pageSize", "10")
		},
		"another list": func(f *fixture) []string {
			return f.names("GET service/list", "pageNo", "2", "pageSize", "10", "selector", `{"type":"none"}`)
		},
		"another route": func(f *fixture) []string {
			return f.names("GET catalog/services", "pageNo", "2", "pageSize", "10")
		},
		"another caller": func(f *fixture) []string {
			r := httptest.NewRequest("GET", "/v1/ns/service/list?pageNo=2&pageSize=10", nil)
			r.RemoteAddr = "192.0.2.99:4711"
			var reply struct{ Doms []string }
			require.NoError(f.t, json.Unmarshal(f.serve(r).Body.Bytes(), &reply))
			return reply.Doms
		},
		"much later": func(f *fixture) []string {
			time.Sleep(2 * walkTime)
			return f.names("GET service/list", "pageNo", "2", "pageSize", "10")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				for i := range 25 {
					f.want("200 ok", "POST service", "serviceName", fmt.Sprintf("s%02d", i))
				}
				require.Equal(t, "s09", f.names("GET service/list", "pageNo", "1", "pageSize", "10")[9])
				f.want("200 ok", "DELETE service", "serviceName", "s00")
				require.Equal(t, "s11", ask(f)[0])
			})
		})
	}
}

func TestWalks_AreBounded(t *testing.T) {
	w := newWalks()
	for i := range 10 * maxWalks {
		w.remember(walk(i), step{page: 1, last: "s"})
		require.LessOrEqual(t, len(w.recent)+len(w.older), 2*maxWalks)
	}
	_, known := w.step(walk(10*maxWalks - 1))
	require.True(t, known)
}
