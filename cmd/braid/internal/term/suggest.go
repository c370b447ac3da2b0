package term

import "github.com/braidrun/braid/internal/nearest"

// DidYouMean is the hint for a word that is unknown; otherwise, where nothing
// is near, it is the fallback.
func DidYouMean(word string, words []string, prefix, fallback string) string {
	if w := nearest.Word(word, words); w != "" {
		return "did you mean " + prefix + w + "?"
	}
	return fallback
}
