// Package nearest finds the word that somebody probably meant, for hints such
// as "did you mean doctor?".
package nearest

// mostSlips is how many slips of the fingers still leave a word recognisable.
const mostSlips = 2

// Word gives the one of words that is fewest slips away from what was typed: at
// most two, and fewer than half of its letters. Of several it is the first; ""
// is given where nothing is near. Letters are told apart by case.
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

// slips counts the letters that were added, left out, changed or swapped with
// their neighbour between a and b (optimal string alignment). What differs in
// length by more than counts is not looked at.
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
