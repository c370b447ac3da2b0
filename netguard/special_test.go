package netguard_test

import (
	"net/netip"
	"testing"

	"github.com/braidrun/braid/netguard"
)

// registry lists every row of the IANA IPv4 and IPv6 Special-Purpose Address Registries, the multicast and reserved classes,
// and the addresses of metadata services. None of them is public, except what exceptions has.
var registry = []string{
	"0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32", "192.0.0.171/32", "192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "255.255.255.255/32", "224.0.0.0/4",
	"::1/128", "::/128", "::ffff:0:0/112", "::ffff:127.0.0.0/104", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23",
	"2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28",
	"2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7",
	"fe80::/10", "fec0::/10", "ff00::/8", "3ffe::/16", "::/96", "::ffff:0:0:0/96", "4000::/3", "e000::/4",
	"169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::254/128",
	"fd20:ce::254/128",
}

func TestNothingInTheRegistriesIsPublic(t *testing.T) {
	t.Parallel()
	for _, row := range registry {
		p := netip.MustParsePrefix(row)
		for _, a := range []netip.Addr{p.Addr(), last(p)} {
			if why, public := netguard.Public(a); public || why == "" {
				t.Errorf("%s of %s is public (%q)", a, row, why)
			}
		}
	}
}

// last is the last address of a range.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// The neighbours of special ranges are public: no range is drawn too wide.
func TestNeighboursArePublic(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.31.195.255",
		"192.31.197.0", "192.52.192.255", "192.52.194.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0",
		"192.175.47.255", "192.175.49.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255",
		"203.0.114.0", "223.255.255.255", "168.63.129.15", "168.63.129.17", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
		"2000::", "2001:200::", "2001:db7:ffff::", "2001:db9::", "2001:4860:4860::8888", "2003::", "2600::", "2620:4f:7fff::",
		"2620:4f:8001::", "3ffd::", "3fff:1000::",
	} {
		if why, public := netguard.Public(netip.MustParseAddr(text)); !public {
			t.Errorf("%s is %s", text, why)
		}
	}
}

func TestIPv6ThatContainsIPv4(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"::ffff:127.0.0.1":         "loopback",
		"::ffff:7f00:1":            "loopback",
		"::127.0.0.1":              "reserved",
		"::ffff:0:127.0.0.1":       "reserved",
		"64:ff9b::10.0.0.1":        "private",
		"64:ff9b::169.254.169.254": "link-local",
		"64:ff9b:1::8.8.8.8":       "reserved",
		"2002:7f00:1::":            "6to4",
		"2001:0:4136:e378:8000::1": "for protocols",
		"2600::5efe:10.0.0.1":      "a tunnel",
		"2600::200:5efe:10.0.0.1":  "a tunnel",
		"fe80::1%eth0":             "link-local",
		"::ffff:168.63.129.16":     "a metadata service",
	} {
		if why, public := netguard.Public(netip.MustParseAddr(text)); public || why != want {
			t.Errorf("%s is %q, public %v; want %q", text, why, public, want)
		}
	}
	if why, public := netguard.Public(netip.Addr{}); public || why != "invalid" {
		t.Errorf("the zero address is %q, public %v", why, public)
	}
}

// FuzzPublic holds the table against what package netip knows of the same addresses, in all forms that contain IPv4.
func FuzzPublic(f *testing.F) {
	f.Add(netip.MustParseAddr("::ffff:127.0.0.1").AsSlice())
	f.Add(netip.MustParseAddr("64:ff9b::169.254.169.254").AsSlice())
	f.Add(netip.MustParseAddr("2002:a00:1::").AsSlice())
	f.Add(netip.MustParseAddr("10.1.2.3").AsSlice())
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		why, public := netguard.Public(a)
		if public != (why == "") {
			t.Fatalf("%s: %q, %v", a, why, public)
		}
		if !public {
			return
		}
		inside := []netip.Addr{a.Unmap()}
		if a.Is6() {
			b := a.As16()
			switch {
			case b[0] == 0x20 && b[1] == 0x02: // 6to4
				inside = append(inside, netip.AddrFrom4([4]byte(b[2:6])))
			case [4]byte(b[:4]) == [4]byte{0x20, 0x01, 0, 0}: // Teredo
				inside = append(inside, netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
			case b[0] == 0: // every form with the IPv4 address at the end
				inside = append(inside, netip.AddrFrom4([4]byte(b[12:])))
			}
		}
		for _, one := range inside {
			if one.IsLoopback() || one.IsPrivate() || one.IsLinkLocalUnicast() || one.IsMulticast() || one.IsUnspecified() {
				t.Fatalf("%s is public, and contains %s", a, one)
			}
		}
	})
}
