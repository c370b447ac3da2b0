// Package cursor encodes a position in a list as an opaque text for pagination, and decodes it.
//
// A cursor belongs to one list. Decoding refuses a cursor of another list, tenant or filter, and
// one that was truncated or altered. Cursors are not signed: a forged one names a position in the
// same list and gives no other access.
package cursor

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"unicode/utf8"
)

// Longest is the maximum length of a cursor in bytes.
const Longest = 1024

const sumSize = 8

// Encode returns the cursor of a position in the list. list identifies the list by everything
// that decides its members and their order, such as kind, tenant and filters.
func Encode(list string, place ...string) string {
	raw := make([]byte, sumSize, 64)
	for _, p := range place {
		raw = binary.AppendUvarint(raw, uint64(len(p)))
		raw = append(raw, p...)
	}
	sum(raw[:sumSize], list, raw[sumSize:])
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Decode returns the parts that [Encode] wrote for the same list. ok is false if the text is not
// such a cursor or has another number of parts.
func Decode(list, text string, parts int) (place []string, ok bool) {
	if len(text) > Longest {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < sumSize {
		return nil, false
	}
	var want [sumSize]byte
	rest := raw[sumSize:]
	sum(want[:], list, rest)
	if string(want[:]) != string(raw[:sumSize]) {
		return nil, false
	}
	for len(rest) > 0 {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) {
			return nil, false
		}
		part := string(rest[size : size+int(n)])
		if !utf8.ValidString(part) {
			return nil, false
		}
		place, rest = append(place, part), rest[size+int(n):]
	}
	return place, len(place) == parts
}

func sum(into []byte, list string, place []byte) {
	h := sha256.New()
	h.Write(binary.AppendUvarint(nil, uint64(len(list))))
	h.Write([]byte(list))
	h.Write(place)
	copy(into, h.Sum(nil))
}
