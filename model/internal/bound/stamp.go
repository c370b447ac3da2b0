package bound

import (
	"crypto/sha256"
	"encoding/base64"
	"hash"
)

// sum is a shortened SHA-256.
type sum [16]byte

// mark identifies a thinking block: a shortened SHA-256 of its signature. The zero mark means no
// block.
type mark [8]byte

// stamp identifies what was sent before a thinking block when it was made.
type stamp struct {
	// prefix is the sum of the instructions, the tools and everything before the block, without
	// thinking.
	prefix sum
	// last is the thinking block before it.
	last mark
}

const stampSize = len(sum{}) + len(mark{})

// String returns the stamp as it is in the log.
func (s stamp) String() string {
	b := append(s.prefix[:], s.last[:]...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// parse parses a stamp. ok is false for an invalid one.
func parse(text string) (s stamp, ok bool) {
	if len(text) != base64.RawURLEncoding.EncodedLen(stampSize) {
		return s, false
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return s, false
	}
	copy(s.prefix[:], b)
	copy(s.last[:], b[len(s.prefix):])
	return s, true
}

// digest is a reusable hash.
type digest struct{ h hash.Hash }

func (d *digest) reset() {
	if d.h == nil {
		d.h = sha256.New()
		return
	}
	d.h.Reset()
}

func (d *digest) write(b []byte) { _, _ = d.h.Write(b) } // a hash never fails

func (d *digest) sum() (s sum) {
	var all [sha256.Size]byte
	copy(s[:], d.h.Sum(all[:0]))
	return s
}

// of returns the hash of the concatenated pieces.
func (d *digest) of(pieces ...[]byte) sum {
	d.reset()
	for _, p := range pieces {
		d.write(p)
	}
	return d.sum()
}

// markOf returns the mark of the block with this signature.
func markOf(signature string) (m mark) {
	all := sha256.Sum256([]byte(signature))
	copy(m[:], all[:])
	return m
}
