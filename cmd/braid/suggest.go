package main

// closest finds the word that was probably meant: at most two slips away, and
// fewer than half of what was typed. "" where nothing is near.
func closest(word string, words []string) string {
	best, near := "", 3
	for _, w := range words {
		if d := slips(word, w); d < near && 2*d < max(len(word), 2) {
			best, near = w, d
		}
	}
	return best
}

// didYouMean is the hint for a word that is unknown; otherwise, where nothing
// is near, it is the fallback.
func didYouMean(word string, words []string, prefix, fallback string) string {
	if w := closest(word, words); w != "" {
		return "did you mean " + prefix + w + "?"
	}
	return fallback
}

// slips counts the letters that were added, left out, changed or swapped with
// their neighbour between a and b.
func slips(a, b string) int {
	s, t := []rune(a), []rune(b)
	before := make([]int, len(t)+1)
	last := make([]int, len(t)+1)
	row := make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(t)]
}
