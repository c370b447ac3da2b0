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
	// Dimensions is the default length of a vector; 0 means unknown.
	Dimensions int
	// MaxTokens bounds the tokens of one text; 0 means unknown.
	MaxTokens int
	// Cost returns the price of a usage in 1e-9 US dollars. It reports false if the price is
	// unknown, as a nil Cost does. It is safe for concurrent use.
	Cost func(event.Usage) (nanoUSD int64, known bool)
}

// Task says what vectors are for. Some models use it to place a question closer to the texts that
// answer it; the others ignore it.
type Task string

// These are the tasks. The zero Task leaves the choice to the model.
const (
	// Query is for search queries.
	Query Task = "query"
	// Document is for texts to be found.
	Document Task = "document"
)

// Request is a request to a model.
type Request struct {
	// Texts has between one and [MaxTexts] texts, none of them empty.
	Texts []string
	Task  Task
	// Dimensions is the length of the vectors; 0 means the model's default.
	Dimensions int
}

// MaxTexts bounds the number of texts in a request, and MaxText the bytes of one text.
const (
	MaxTexts = 10_000
	MaxText  = 1 << 20
)

// Response is the result of a request.
type Response struct {
	// Vectors has one vector for each text.
	Vectors [][]float32
	// Usage counts the texts' tokens as Input.
	Usage event.Usage
	// UsageUnknown is set if the provider does not report the number of tokens.
	UsageUnknown bool
	// CostNanoUSD is the cost in 1e-9 US dollars; nil means unknown, which is not zero.
	CostNanoUSD *int64
}

// Cosine returns the cosine of the angle between two vectors: 1 means the same direction. It
// returns 0 for vectors of different dimensions and for a zero vector.
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

// Near is a vector's index in a list with its [Cosine].
type Near struct {
	Index  int
	Cosine float64
}

// Nearest returns the n vectors that are closest to the vector to, the closest first.
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
