package s3

import (
	"strings"

	"github.com/braidrun/braid/workspace"
)

// maxKey bounds a key, in bytes (S3 user guide, "Naming objects").
const maxKey = 1024

// escaped returns an id as one part of a key. Every byte but letters, digits, - and _ is written as = and two digits. So two
// ids never have one part, and none is empty or leads out.
func escaped(id string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			b.Write([]byte{'=', digits[c>>4], digits[c&15]})
		}
	}
	if id == "" {
		return "="
	}
	return b.String()
}

// ofTenant returns the beginning of the keys of a tenant.
func (b *Bucket) ofTenant(tenant string) string { return b.prefix + escaped(tenant) + "/" }

// of returns the beginning of the keys of a workspace.
func (b *Bucket) of(o workspace.Owner) string {
	return b.ofTenant(o.Tenant) + escaped(o.Conversation) + "/" + escaped(o.Incarnation) + "/"
}

// escapedKey returns a key as a path of an address: S3 signs the form in which all but unreserved characters are encoded.
func escapedKey(key string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(key) {
		c := key[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}
