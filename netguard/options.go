package netguard

import (
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
)

// Options are the rules of a [Guard]. The zero value is closed: HTTPS to port 443 of public addresses, without redirects.
type Options struct {
	// Allow lists hosts that may have any address: "intranet.example", "*.corp.example" (names below it), "10.1.2.3",
	// "10.0.0.0/8", each optionally with a port ("intranet.example:8443", "[fd00::1]:80"; not for networks). An allowed host
	// may be reached without TLS and, if it is listed without a port, on every port. A network covers addresses that are written
	// in the URL and addresses that names resolve to.
	Allow []string
	// Plain permits http:// to public hosts, on port 80.
	Plain bool
	// Ports lists more ports of public hosts.
	Ports []uint16
	// Own lists addresses of this service that its network interfaces do not have, such as that of its load balancer.
	Own []netip.Prefix

	// Timeout bounds one request, from dialling to the end of the response's body. Default 60 s; negative is no bound.
	Timeout time.Duration
	// MaxBytes bounds the body of a response after decompression. Default 16 MiB; negative is no bound.
	MaxBytes int64
	// Redirects is the maximum number of redirects that [Guard.Client] follows. At 0 a redirect is returned as the response.
	// A redirect never leads from https to http. One to another origin carries no body, and of the request's headers only Accept,
	// Accept-Language, Content-Type and User-Agent.
	Redirects int

	// Resolver resolves names. Nil is Go's default resolver.
	Resolver *net.Resolver
}

// rules is Options.Allow in parsed form.
type rules struct {
	hosts []hostRule
	nets  []netip.Prefix
}

// hostRule allows one host, or the names below it.
type hostRule struct {
	host  string
	below bool
	// port is empty for every port.
	port string
}

func parseRules(list []string) (r rules, err error) {
	for _, entry := range list {
		if p, err := netip.ParsePrefix(entry); err == nil {
			r.nets = append(r.nets, p.Masked())
			continue
		}
		one := hostRule{host: entry}
		if inner, ok := strings.CutPrefix(entry, "["); ok && strings.HasSuffix(inner, "]") {
			one.host = strings.TrimSuffix(inner, "]")
		}
		if _, err := netip.ParseAddr(one.host); err != nil {
			if host, port, err := net.SplitHostPort(entry); err == nil {
				one.host, one.port = host, port
				if !validPort(port) {
					return r, badRule(entry)
				}
			}
		}
		one.host, one.below = strings.CutPrefix(one.host, "*.")
		if one.host = normal(one.host); checkHost(one.host) != "" {
			return r, badRule(entry)
		}
		r.hosts = append(r.hosts, one)
	}
	return r, nil
}

func badRule(entry string) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: "cannot read the allowed host " + quoted(entry),
		Hint: `write a name, an address or a network, such as "intranet.example:8443" or "10.0.0.0/8"`,
	}
}

// host reports whether a host of a URL is allowed by name or as an address.
func (r *rules) host(host, port string) bool {
	for _, rule := range r.hosts {
		if rule.port != "" && rule.port != port {
			continue
		}
		if host == rule.host && !rule.below || rule.below && strings.HasSuffix(host, "."+rule.host) {
			return true
		}
	}
	a, err := netip.ParseAddr(host)
	return err == nil && r.addr(a)
}

// addr reports whether an address is in an allowed network.
func (r *rules) addr(a netip.Addr) bool {
	a = a.Unmap()
	for _, p := range r.nets {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// normal is the one spelling of a host: lower case, without a final dot, an address as Go prints it.
func normal(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return host
}
