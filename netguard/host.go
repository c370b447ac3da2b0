package netguard

import (
	"net/netip"
	"strconv"
	"strings"
)

// maxHost is the length of the longest name of a host (RFC 1035).
const maxHost = 253

// checkHost returns what is wrong with a host; empty if nothing. It refuses spellings of addresses that some resolvers
// understand and others do not: decimal, octal, hexadecimal, shortened. A URL with such a host could mean different
// addresses to whoever checks it and to whoever connects.
func checkHost(host string) string {
	if host == "" {
		return "is empty"
	}
	if len(host) > maxHost {
		return "is too long"
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return "has a zone"
		}
		return ""
	}
	for i := range len(host) {
		c := host[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' {
			return "is not a name in ASCII"
		}
	}
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 {
			return "is not a name"
		}
	}
	if last := strings.ToLower(labels[len(labels)-1]); numeric(last) {
		return "is an address in an unusual form"
	}
	return ""
}

// numeric reports whether the last label of a host makes it an IPv4 address (WHATWG URL, "ends in a number").
func numeric(label string) bool {
	hex, isHex := strings.CutPrefix(label, "0x")
	for _, c := range hex {
		digit := c >= '0' && c <= '9' || isHex && c >= 'a' && c <= 'f'
		if !digit {
			return false
		}
	}
	return true
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == port
}

// quoted shows a text of others in an error, bounded.
func quoted(s string) string {
	const most = 100
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.QuoteToGraphic(s)
}
