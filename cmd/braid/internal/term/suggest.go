package term

import "github.com/braidrun/braid/internal/nearest"

// DidYouMean returns the hint for an unknown word: the nearest known word, or fallback if none is near.
func DidYouMean(word string, words []string, prefix, fallback string) string {
	if w := nearest.Word(word, words); w != "" {
		return "did you mean " + prefix + w + "?"
	}
	return fallback
}
