package embedding

import (
	"context"
	"math"
	"slices"

	"github.com/braidrun/braid/event"
)

// Model turns texts into vectors.
//
// Package embedding/embeddingtest checks every provider against this contract:
//
//   - Embed returns one vector for each text, in their order, all of the same dimensions and of
//     length one. An answer of the provider that cannot be that is an error of kind
//     [event.ErrModel].
//   - A request with more texts than the provider takes at once is sent in several calls. An error
//     of one of them is the error of all.
//   - The error is an *[event.Error]. Embed never retries: [event.Error].RetryAfter says when the
//     provider would be asked again. A setting that the model cannot keep is
//     [event.ErrUnsupported] before anything is sent.
//   - Cancelling ctx ends the calls, with an error.
//   - The model reads req; it never changes or keeps it.
//
// A Model is safe for concurrent use.
type Model interface {
	// Info describes the model. It is cheap and never changes.
	Info() Info
	Embed(ctx context.Context, req *Request) (*Response, error)
}

// Info describes a model.
type Info struct {
	// Name is what users write, such as "openai:text-embedding-3-small".
	Name string
	// Dimensions are those of a vector where a request asks for none; 0 is unknown.
	Dimensions int
	// MaxTokens is how many tokens one text may have; 0 is unknown.
	MaxTokens int
	// Cost returns the price of a usage in 1e-9 US dollars. It reports false if the price is
	// unknown, as a nil Cost does. It is safe for concurrent use.
	Cost func(event.Usage) (nanoUSD int64, known bool)
}

// Task says what vectors are for. Some models place a question and the texts that answer it closer
// to each other when they are told which is which; the others embed both the same.
type Task string

// The tasks. The zero Task leaves it to the model.
const (
	// Query embeds what is looked for.
	Query Task = "query"
	// Document embeds what is to be found.
	Document Task = "document"
)

// Request is what a model embeds.
type Request struct {
	// Texts has at least one text, at most [MaxTexts]. None is empty.
	Texts []string
	Task  Task
	// Dimensions is how long a vector is to be; 0 is the model's own.
	Dimensions int
}

// MaxTexts bounds the texts of a request, and MaxText the bytes of one.
const (
	MaxTexts = 10_000
	MaxText  = 1 << 20
)

// Response is what a model answers.
type Response struct {
	// Vectors has one vector for each text.
	Vectors [][]float32
	// Usage counts the tokens of the texts as Input.
	Usage event.Usage
	// UsageUnknown is set where the provider does not say how many tokens it has read.
	UsageUnknown bool
	// CostNanoUSD is in 1e-9 US dollars; nil where it is not known, which is not zero.
	CostNanoUSD *int64
}

// Cosine is how close two vectors point in the same direction: 1 is the same, 0 is nothing in
// common. It is 0 for vectors of different dimensions and for a vector of nothing.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, lenA, lenB float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot += x * y
		lenA += x * x
		lenB += y * y
	}
	cos := dot / math.Sqrt(lenA*lenB)
	if math.IsNaN(cos) || math.IsInf(cos, 0) {
		return 0
	}
	return min(max(cos, -1), 1)
}

// Near is a vector by its place in a list, with its [Cosine].
type Near struct {
	Index  int
	Cosine float64
}

// Nearest finds the n vectors that are closest to a vector, the closest first.
func Nearest(to []float32, vectors [][]float32, n int) []Near {
	list := make([]Near, len(vectors))
	for i := range vectors {
		list[i] = Near{i, Cosine(to, vectors[i])}
	}
	slices.SortStableFunc(list, func(a, b Near) int {
		switch {
		case a.Cosine > b.Cosine:
			return -1
		case a.Cosine < b.Cosine:
			return 1
		}
		return 0
	})
	return list[:min(max(n, 0), len(list))]
}
