package agentcore_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/braidrun/braid/wire/agentcore"
)

func drain(tb testing.TB, r *agentcore.Reader) (text int) {
	tb.Helper()
	for {
		it, err := r.Next()
		if err == io.EOF {
			return text
		}
		if err != nil {
			tb.Fatal(err)
		}
		text += len(it.Text)
	}
}

func deltas(n int) []byte { return []byte(strings.Repeat(seedDelta+"\n\n", n) + theResult + "\n\n") }

func BenchmarkTextDeltas(b *testing.B) {
	stream := deltas(10_000)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		drain(b, agentcore.NewReader(bytes.NewReader(stream), 0))
	}
}

func BenchmarkSeedsTurn(b *testing.B) {
	stream := []byte(strings.Repeat(strings.Join(seedTurn(), "\n\n")+"\n\n", 1000))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		drain(b, agentcore.NewReader(bytes.NewReader(stream), 0))
	}
}

// Neither a piece of text nor what is passed over allocates.
//
//nolint:paralleltest // allocations are counted for the whole process
func TestNothingIsAllocatedForWhatIsSkipped(t *testing.T) {
	copied := `data: {"data": "Bedrock Agent", "delta": {"text": "Bedrock Agent"}}`
	for name, line := range map[string]string{
		"text": seedDelta, "escaped text": strings.Replace(seedDelta, "Bed", `\u8a08`, 1), "repr": seedRepr, "copy": copied,
		"unknown": `data: {"new": {"a": [1, 2, {"b": "c"}]}}`, "start": seedStart,
	} {
		cost := func(n int) float64 {
			stream := []byte(seedMessage + "\n\n" + strings.Repeat(line+"\n\n", n) + theResult + "\n\n")
			return testing.AllocsPerRun(5, func() { drain(t, agentcore.NewReader(bytes.NewReader(stream), 0)) })
		}
		if few, many := cost(10), cost(1000); many > few+3 {
			t.Errorf("%s: 10 cost %v allocations, 1000 cost %v", name, few, many)
		}
	}
}
