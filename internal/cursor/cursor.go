// Package cursor writes the place where a page of a list ended as a word that a
// client sends back, and reads it again.
//
// The word is bound to its list: a cursor of another list, of another tenant's or
// with another filter is refused, and so is one that was cut, made up or changed.
// There is no key in it, because none is needed: whoever takes the trouble to make
// one that passes has named a place in the same list, and nothing more.
package cursor

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"unicode/utf8"
)

// Longest is how long a cursor may be.
const Longest = 1024

const sumSize = 8

// Encode gives the cursor of a place in the list. list names the list with all that
// decides what is in it and in which order: such as its kind, tenant and filters.
func Encode(list string, place ...string) string {
	raw := make([]byte, sumSize, 64)
	for _, p := range place {
		raw = binary.AppendUvarint(raw, uint64(len(p)))
		raw = append(raw, p...)
	}
	sum(raw[:sumSize], list, raw[sumSize:])
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Decode reads what [Encode] has written for the same list with as many parts. ok is
// false for everything else.
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
