package embedding_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/embedding"
	"github.com/braidrun/braid/embedding/embeddingtest"
	"github.com/braidrun/braid/embedding/openai"
	"github.com/braidrun/braid/secret"
)

// A question finds the text that answers it.
func Example() {
	vendor := embeddingtest.OpenAI() // OpenAI itself needs neither this line nor an address
	defer vendor.Close()
	m, err := openai.New("text-embedding-3-small", secret.New(embeddingtest.Key), openai.BaseURL(vendor.URL+"/v1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	texts := []string{"Invoices are paid within 30 days.", "The office is closed on Sundays.", "Lunch is at noon."}
	docs, err := m.Embed(context.Background(), &embedding.Request{Texts: texts, Task: embedding.Document})
	if err != nil {
		fmt.Println(err)
		return
	}
	asked, err := m.Embed(context.Background(), &embedding.Request{Texts: []string{"When is the office closed?"}, Task: embedding.Query})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, near := range embedding.Nearest(asked.Vectors[0], docs.Vectors, 1) {
		fmt.Println(texts[near.Index])
	}
	// Output: The office is closed on Sundays.
}

func TestCosine(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tc := range []struct {
		a, b []float32
		want float64
	}{
		{[]float32{1, 0}, []float32{5, 0}, 1},
		{[]float32{1, 0}, []float32{0, 2}, 0},
		{[]float32{1, 0}, []float32{-3, 0}, -1},
		{[]float32{1, 1}, []float32{1, 0}, math.Sqrt2 / 2},
		{[]float32{0, 0}, []float32{1, 0}, 0},
		{[]float32{1}, []float32{1, 0}, 0},
		{nil, nil, 0},
		{[]float32{nan, 1}, []float32{1, 1}, 0},
		{[]float32{inf, 1}, []float32{1, 1}, 0},
	} {
		if got := embedding.Cosine(tc.a, tc.b); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%v and %v: %v, want %v", tc.a, tc.b, got, tc.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "dimensions")
		vector := rapid.SliceOfN(rapid.Float32(), n, n)
		a, b := vector.Draw(t, "a"), vector.Draw(t, "b")
		cos := embedding.Cosine(a, b)
		if math.IsNaN(cos) || cos < -1 || cos > 1 || cos != embedding.Cosine(b, a) {
			t.Fatalf("%v", cos)
		}
	})
}

func TestNearest(t *testing.T) {
	t.Parallel()
	vectors := [][]float32{{0, 1}, {1, 0}, {1, 1}, {1, 0}, {1}}
	got := embedding.Nearest([]float32{1, 0}, vectors, 3)
	if len(got) != 3 || got[0].Index != 1 || got[1].Index != 3 || got[2].Index != 2 {
		t.Errorf("%+v", got)
	}
	if len(embedding.Nearest([]float32{1, 0}, vectors, 99)) != 5 || len(embedding.Nearest([]float32{1, 0}, vectors, -1)) != 0 {
		t.Error("more than there are, or fewer than none")
	}
}
