package netguard_test

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/braidrun/braid/netguard"
)

// FuzzSpelling holds that a host which the C library reads as an IPv4 address of the inside is refused, however it is written.
func FuzzSpelling(f *testing.F) {
	for _, host := range []string{
		"127.0.0.1", "2130706433", "0x7f.0.0.1", "0177.1", "127.1", "127.0.1", "0x7F000001", "017700000001", "10.1", "[::ffff:7f00:1]",
		"[::1]", "localhost", "127.0.0.1.", "0", "00.0x0", "4294967295", "8.8.8.8",
	} {
		f.Add(host)
	}
	g, err := netguard.New(netguard.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, host string) {
		u, err := url.Parse("https://" + host + "/")
		if err != nil || u.Hostname() == "" {
			return
		}
		if g.CheckURL(u) != nil {
			return
		}
		name := strings.TrimSuffix(u.Hostname(), ".")
		a, ok := inetAton(name)
		if v6, err := netip.ParseAddr(name); err == nil {
			a, ok = v6, true
		}
		if !ok {
			return
		}
		if why, public := netguard.Public(a); !public {
			t.Fatalf("%q is allowed, and means %s, which is %s", host, a, why)
		}
		if a.Unmap().String() != name && !strings.Contains(name, ":") {
			t.Fatalf("%q is allowed, and means %s to some and something else to others", host, a)
		}
	})
}

// inetAton reads an address as the C library does: one to four numbers, each decimal, octal or hexadecimal, the last of which
// fills the bytes that are left.
func inetAton(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var v uint64
	for i, p := range parts {
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		digits, base := p, 10
		switch {
		case strings.HasPrefix(strings.ToLower(p), "0x"):
			digits, base = p[2:], 16
		case len(p) > 1 && p[0] == '0':
			base = 8
		}
		n, err := strconv.ParseUint(digits, base, bits)
		if err != nil {
			return netip.Addr{}, false
		}
		v = v<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}
