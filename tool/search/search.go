// Package search ranks short texts, such as descriptions of tools, by the words of a query.
package search

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// Document is what can be found.
type Document struct {
	// Name is found before all others by a query that is equal to it.
	Name string
	// Texts are what the document says, its name included if words of it are to be found.
	Texts []Text
}

// Text is a part of a document.
type Text struct {
	Text string
	// Weight is how often a word of the text counts.
	Weight float64
}

// Index finds documents by words: the more often a word stands in one, and the
// rarer it is among all, the more it counts, and less in long documents (the BM25 formula of Robertson
// and others). It is safe for concurrent use.
type Index struct {
	names []string
	words []map[string]float64
	size  []float64
	mean  float64
	in    map[string]int
}

// New makes an index of documents, which keep their places.
func New(docs []Document) *Index {
	t := &Index{in: map[string]int{}}
	for _, d := range docs {
		words := map[string]float64{}
		for _, part := range d.Texts {
			for _, w := range wordsOf(part.Text) {
				words[w] += part.Weight
			}
		}
		size := 0.0
		for w, n := range words {
			size += n
			t.in[w]++
		}
		t.names, t.words, t.size = append(t.names, d.Name), append(t.words, words), append(t.size, size)
		t.mean += size / float64(len(docs))
	}
	return t
}

// Find returns the places of up to most documents that fit query best, the best first. It leaves out documents of
// which skip reports true. A document whose name is the query comes first, and one without a word of it does not come.
func (t *Index) Find(query string, most int, skip func(int) bool) []int {
	const k, b = 1.2, 0.75
	type hit struct {
		place int
		score float64
	}
	var hits []hit
	asked := wordsOf(query)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	for i, words := range t.words {
		if skip(i) {
			continue
		}
		score := 0.0
		for _, w := range asked {
			if n := words[w]; n > 0 {
				rare := math.Log(1 + (float64(len(t.words))-float64(t.in[w])+0.5)/(float64(t.in[w])+0.5))
				score += rare * n * (k + 1) / (n + k*(1-b+b*t.size[i]/t.mean))
			}
		}
		if t.names[i] == strings.TrimSpace(query) {
			score = math.Inf(1)
		}
		if score > 0 {
			hits = append(hits, hit{i, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		default:
			return 0
		}
	})
	var places []int
	for _, h := range hits[:min(most, len(hits))] {
		places = append(places, h.place)
	}
	return places
}

// wordsOf takes a text or a name apart: getPricing and get_pricing are two words, and scripts without spaces are read in pairs of letters.
func wordsOf(text string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, stem(strings.ToLower(string(word))))
		}
		word = word[:0]
	}
	var before rune
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			end()
			if unicode.In(before, unicode.Han, unicode.Hiragana, unicode.Katakana) {
				words = append(words, string([]rune{before, r}))
			}
			words = append(words, string(r))
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
		default:
			if unicode.IsUpper(r) && unicode.IsLower(before) {
				end()
			}
			word = append(word, r)
		}
		before = r
	}
	end()
	return words
}

// stem cuts off the English endings by which one word differs in a name and in a question.
func stem(w string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		if len(w) > len(end)+3 && strings.HasSuffix(w, end) && !strings.HasSuffix(w, "ss") {
			w = w[:len(w)-len(end)]
			break
		}
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}
