package netguard

import "net/netip"

// block is a range of addresses that the internet does not route to one public host.
type block struct {
	prefix netip.Prefix
	// name says what the range is for, for an error message.
	name string
}

// special4 lists the IPv4 ranges of the IANA IPv4 Special-Purpose Address Registry, with multicast (RFC 5771) and the reserved
// last class. Ranges that the registry calls globally reachable are included if they name a service and no host.
var special4 = blocks(
	"0.0.0.0/8", "this network", // RFC 791
	"10.0.0.0/8", "private", // RFC 1918
	"100.64.0.0/10", "shared by carriers", // RFC 6598; 100.100.100.200 is a metadata service
	"127.0.0.0/8", "loopback", // RFC 1122
	"169.254.0.0/16", "link-local", // RFC 3927; 169.254.169.254 is a metadata service
	"172.16.0.0/12", "private", // RFC 1918
	"192.0.0.0/24", "for protocols", // RFC 6890
	"192.0.2.0/24", "for documentation", // RFC 5737
	"192.31.196.0/24", "for AS112", // RFC 7535
	"192.52.193.0/24", "for AMT relays", // RFC 7450
	"192.88.99.0/24", "for 6to4 relays", // RFC 7526
	"192.168.0.0/16", "private", // RFC 1918
	"192.175.48.0/24", "for AS112", // RFC 7534
	"198.18.0.0/15", "for benchmarks", // RFC 2544
	"198.51.100.0/24", "for documentation", // RFC 5737
	"203.0.113.0/24", "for documentation", // RFC 5737
	"224.0.0.0/4", "multicast", // RFC 5771
	"240.0.0.0/4", "reserved", // RFC 1112; with the broadcast address
	// Public ranges in which cloud providers answer their own machines only.
	"168.63.129.16/32", "a metadata service", // Azure
)

// special6 lists the ranges inside 2000::/3 that are special. What is outside of it is not public: that covers loopback (::1),
// mapped and translated IPv4 (::/8), discard-only (100::/64), unique local (fc00::/7), link-local (fe80::/10), site-local
// (fec0::/10), multicast (ff00::/8) and segment routing (5f00::/16).
var special6 = blocks(
	"2001::/23", "for protocols", // RFC 2928; with Teredo, benchmarks, AMT, ORCHID
	"2001:db8::/32", "for documentation", // RFC 3849
	"2002::/16", "6to4", // RFC 3056
	"2620:4f:8000::/48", "for AS112", // RFC 7534
	"3ffe::/16", "reserved", // RFC 5156
	"3fff::/20", "for documentation", // RFC 9637
)

// outside6 names the ranges outside of 2000::/3 for error messages.
var outside6 = blocks(
	"::1/128", "loopback", // RFC 4291
	"::/8", "reserved", // RFC 4291; with all forms that contain an IPv4 address
	"fc00::/7", "private", // RFC 4193
	"fe80::/10", "link-local", // RFC 4291
	"fec0::/10", "private", // RFC 3879
	"ff00::/8", "multicast", // RFC 4291
)

var (
	global6 = netip.MustParsePrefix("2000::/3")
	// nat64 is the prefix with which networks without IPv4 reach public IPv4 addresses (RFC 6052).
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

func blocks(list ...string) []block {
	all := make([]block, 0, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		all = append(all, block{netip.MustParsePrefix(list[i]), list[i+1]})
	}
	return all
}

// Public reports whether an address belongs to a public host. If not, why says what the address is, such as "loopback".
// An IPv6 address that contains an IPv4 address is public only if it is in the well-known prefix for translation and the IPv4
// address is public.
func Public(a netip.Addr) (why string, public bool) {
	switch {
	case !a.IsValid():
		return "invalid", false
	case a.Zone() != "":
		return "link-local", false
	case a.Is4In6():
		// The operating system connects it as IPv4.
		a = a.Unmap()
	}
	if a.Is4() {
		return lookUp(special4, a)
	}
	if b := a.As16(); nat64.Contains(a) {
		return lookUp(special4, netip.AddrFrom4([4]byte(b[12:])))
	} else if !global6.Contains(a) {
		if why, public := lookUp(outside6, a); !public {
			return why, false
		}
		return "reserved", false
	} else if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		// ISATAP (RFC 5214) tunnels to the IPv4 address at the end.
		return "a tunnel", false
	}
	return lookUp(special6, a)
}

func lookUp(list []block, a netip.Addr) (why string, public bool) {
	for _, b := range list {
		if b.prefix.Contains(a) {
			return b.name, false
		}
	}
	return "", true
}
