// Package hostcheck protects a server from pages of other sites. It checks the request's Host
// against DNS rebinding, and the Origin against cross-site requests.
package hostcheck

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// Host reports whether a request's Host is a name of the server: a loopback name, or one of
// hosts, which have no ports.
func Host(host string, hosts []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if name == "localhost" || slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// Origin reports whether a page may send the request: its origin is the server's own, by the
// request's Host, or one of origins. A request without an Origin does not come from a page
// and is allowed.
func Origin(origin, host string, origins []string) bool {
	if origin == "" || slices.Contains(origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host == host
}
