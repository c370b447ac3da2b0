package story

// Streamed says how much of a text a reader was sent: its length and a sum. So the text itself need not be kept. The zero
// value is nothing.
type Streamed struct {
	N   int
	sum uint64
}

// The numbers of FNV-1a.
const sumBasis, sumPrime = 14695981039346656037, 1099511628211

// Add counts more of the text.
func (s *Streamed) Add(text string) {
	s.N += len(text)
	s.sum = sumOf(s.sum, text)
}

// Begins reports whether text begins with what was sent.
func (s *Streamed) Begins(text string) bool { return s.N <= len(text) && sumOf(0, text[:s.N]) == s.sum }

// sumOf goes on from a sum; that of nothing is 0.
func sumOf(sum uint64, text string) uint64 {
	sum ^= sumBasis
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * sumPrime
	}
	return sum ^ sumBasis
}
