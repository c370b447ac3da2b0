package drive

import "testing"

// Joining the pieces of an answer copies each byte a few times, however many pieces there are.
func TestPiecesAreJoinedWithFewCopies(t *testing.T) { //nolint:paralleltest // it counts allocations
	const pieces, most = 10_000, 100
	if n := testing.AllocsPerRun(1, func() {
		var b building
		for range pieces {
			b.add("word ")
		}
	}); n > most {
		t.Errorf("%v allocations for %d pieces, want at most %d", n, pieces, most)
	}
}
