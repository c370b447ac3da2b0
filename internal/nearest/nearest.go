// Package nearest finds the word that a user probably meant, for hints such as "did you mean
// doctor?".
package nearest

// mostSlips is the largest number of typing errors at which two words still count as near.
const mostSlips = 2

// Word returns the word with the fewest typing errors from typed: at most two, and fewer than
// half of its letters. Among equals it returns the first, and "" if no word is near. Case
// matters.
func Word(typed string, words []string) string {
	letters := []rune(typed)
	best, near := "", mostSlips+1
	for _, w := range words {
		if d := slips(letters, []rune(w)); d < near && 2*d < len(letters) {
			best, near = w, d
		}
	}
	return best
}

// slips counts the letters that were inserted, deleted, replaced or swapped with their neighbour
// between a and b (optimal string alignment). It does not compare words whose lengths differ by
// more than mostSlips.
func slips(a, b []rune) int {
	if d := len(a) - len(b); d > mostSlips || -d > mostSlips {
		return mostSlips + 1
	}
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
