// Package ownhost tells a server's own name from one that a page of another site gave it:
// a browser that was led to this machine under a foreign name (DNS rebinding), or that
// asks on behalf of a foreign page, is not to be answered.
package ownhost

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// Host reports whether a request's Host is a name of the server: one of the loopback
// interface, or one of hosts, which are without ports.
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

// Origin reports whether a page may ask: it is the server's own, by the request's Host,
// or of one of origins. A request without an Origin is no page's.
func Origin(origin, host string, origins []string) bool {
	if origin == "" || slices.Contains(origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host == host
}
