package braid_test

import (
	"context"
	"iter"
	"runtime"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// gauge measures a run from inside, ten times.
type gauge struct {
	at []sample
}

// sample is what a cycle finds: bytes that are kept, bytes that were ever asked
// for, bytes of stacks, frames on the caller's, and goroutines.
type sample struct {
	kept, asked, stacks uint64
	frames, goroutines  int
}

func (g *gauge) take() {
	var m runtime.MemStats
	var pcs [4096]uintptr
	runtime.GC()
	runtime.ReadMemStats(&m)
	g.at = append(g.at, sample{
		kept: m.HeapAlloc, asked: m.TotalAlloc, stacks: m.StackInuse,
		frames: runtime.Callers(0, pcs[:]), goroutines: runtime.NumGoroutine(),
	})
}

// TestTenThousandCycles holds that a run of any length costs the same per cycle:
// the stack does not grow at all, and the heap by what the log itself holds. It
// measures the whole process, so it does not run beside other tests. Under the race detector
// a thousand cycles are a run; make test-long has the ten thousand without it.
func TestTenThousandCycles(t *testing.T) { //nolint:paralleltest // it measures the process
	cycles := 10_000
	if race.On {
		cycles = 1000
	}
	every := cycles / 10
	for _, c := range []struct {
		name  string
		calls []string
		parts []braid.Part
		deep  bool
	}{
		{name: "one tool", calls: []string{"add", `{"a":3,"b":5}`}},
		{name: "three tools at once", calls: []string{"add", `{"a":3,"b":5}`, "add", `{"a":1,"b":1}`, "none", `{}`}},
		{name: "one after another", calls: []string{"add", `{"a":3,"b":5}`, "add", `{"a":1,"b":1}`}, parts: []braid.Part{braid.Sequential()}},
		{name: "inside an agent used as a tool", calls: []string{"add", `{"a":3,"b":5}`}, deep: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &gauge{at: make([]sample, 0, cycles/every+1)}
			answer, last := asksFor(c.calls...), says("done")
			llm := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				if req.Cycle%every == 0 {
					g.take()
				}
				if req.Cycle == cycles {
					return chunks(last)
				}
				return chunks(answer)
			}}
			agent := braid.New("worker", llm, append(c.parts,
				braid.Func("add", "Adds two numbers.", add, tool.Pure()), braid.Limit(braid.Limits{Cycles: -1, Repeats: -1}))...)
			if c.deep {
				agent = braid.New("boss", answers(asksFor("worker", `{"input":"work"}`), says("done")), braid.AsTool(agent, "Works."))
			}
			result, err := agent.Run(t.Context(), "go")
			if err != nil || result.Stop != event.StopEndTurn {
				t.Fatalf("it ended with %s, %v", result.Stop, err)
			}
			first, end := g.at[0], g.at[len(g.at)-1]
			if len(g.at) != cycles/every {
				t.Fatalf("%d samples", len(g.at))
			}
			for i, s := range g.at {
				// A goroutine that has just handed in its result may still be there.
				if s.frames != first.frames || s.goroutines > first.goroutines+len(c.calls)/2 {
					t.Errorf("cycle %d: %d frames in %d goroutines, at cycle %d %d in %d", (i+1)*every,
						s.frames, s.goroutines, every, first.frames, first.goroutines)
				}
			}
			// The runtime keeps stacks for goroutines to come: a bounded number.
			if end.stacks > first.stacks+1<<20 {
				t.Errorf("the stacks grew from %d to %d bytes", first.stacks, end.stacks)
			}
			// The middle divides the run into two parts of nearly one length.
			middle := g.at[len(g.at)/2]
			per := func(a, b uint64, n int) float64 { return float64(b-a) / float64(n*every) }
			n, m := len(g.at)/2, len(g.at)-1-len(g.at)/2
			kept, keptLater := per(first.kept, middle.kept, n), per(middle.kept, end.kept, m)
			asked, askedLater := per(first.asked, middle.asked, n), per(middle.asked, end.asked, m)
			t.Logf("a cycle keeps %.0f and then %.0f bytes, asks for %.0f and then %.0f; %d frames, %d goroutines, %d KiB of stacks",
				kept, keptLater, asked, askedLater, end.frames, end.goroutines, end.stacks>>10)
			// Lists that double in size are copied now and then, which is in both
			// parts, though not to the byte.
			if keptLater > 1.25*kept || askedLater > 1.25*asked {
				t.Error("later cycles cost more than earlier ones")
			}
		})
	}
}
