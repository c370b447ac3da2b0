package bound

// Stamper stamps the thinking of the answer to one request.
type Stamper struct {
	digest digest
	prefix sum
	last   mark
}

// Stamper gives what stamps the answer to the request of which k was kept.
func (k Kept) Stamper() *Stamper { return &Stamper{prefix: k.prefix, last: k.last} }

// Stamp is the stamp of a thinking block of the answer. before are the bytes of the
// answer's message before it, as they will be sent, without thinking.
func (s *Stamper) Stamp(before []byte) string {
	inner := s.digest.of(before)
	return stamp{prefix: s.digest.of(s.prefix[:], inner[:]), last: s.last}.String()
}

// Made says that a block has come whole. Blocks behind it were made behind it.
func (s *Stamper) Made(signature string) { s.last = markOf(signature) }
