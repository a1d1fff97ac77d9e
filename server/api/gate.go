package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"
)

// statusUp is the only status in which everything is served.
const statusUp = "UP"

// status is the server's own: what an operator has set by the switch
// overriddenServerStatus, else UP. Everything is in place before the web server
// listens, so there is no request that could see another one.
func (a *API) status() string {
	if s := a.switches.Load().OverriddenServerStatus; s != nil && *s != "" {
		return *s
	}
	return statusUp
}

// gate lets a request pass or answers it, by the switches limitedUrlMap and
// overriddenServerStatus (Nacos HTTP v1: filter pipeline). Unlike Nacos it knows
// no agent that passes always, since everyone can call himself so; the switches
// themselves pass always, so that what was closed can be opened again.
func (a *API) gate(c *gin.Context) bool {
	if limits := a.switches.Load().LimitedURLMap; len(limits) > 0 {
		uri := fullURI(c.Request)
		for prefix, status := range limits {
			if strings.HasPrefix(uri, prefix) {
				if status < 200 || status > 599 {
					status = http.StatusServiceUnavailable
				}
				write(c, status, answer{})
				return false
			}
		}
	}
	switch status := a.status(); {
	case status == statusUp,
		status == "WRITE_ONLY" && c.Request.Method != http.MethodGet,
		status == "READ_ONLY" && c.Request.Method == http.MethodGet:
		return true
	default:
		write(c, http.StatusServiceUnavailable, text("server is "+status+" now, please try again later!"))
		return false
	}
}

// fullURI is path and query with a question mark between them in any case, as
// the prefixes of limitedUrlMap expect it. The path, context path included, is
// in its one normal form, so that no other spelling of a limited path passes: no
// escapes, single slashes, none at the end.
func fullURI(r *http.Request) string {
	path, query, _ := strings.Cut(r.RequestURI, "?")
	if u, err := url.ParseRequestURI(path); err == nil {
		path = u.Path // of the absolute form too
	}
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return strings.TrimSuffix(path, "/") + "?" + query
}
