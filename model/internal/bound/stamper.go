package bound

// Stamper stamps the thinking of the answer to one request.
type Stamper struct {
	digest digest
	prefix sum
	last   mark
}

// Stamper returns the stamper for the answer to the request of k.
func (k Kept) Stamper() *Stamper { return &Stamper{prefix: k.prefix, last: k.last} }

// Stamp returns the stamp of a thinking block of the answer. before are the bytes of the answer's
// message before it, as they will be sent, without thinking.
func (s *Stamper) Stamp(before []byte) string {
	inner := s.digest.of(before)
	return stamp{prefix: s.digest.of(s.prefix[:], inner[:]), last: s.last}.String()
}

// Made records a complete block, which later blocks follow.
func (s *Stamper) Made(signature string) { s.last = markOf(signature) }
