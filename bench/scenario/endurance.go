package scenario

import (
	"context"
	"iter"
	"runtime"

	"github.com/braidrun/braid/bench/floor"
)

// Mark is what a long run holds at one of its cycles.
type Mark struct {
	// Cycles is how many are finished.
	Cycles int `json:"cycles"`
	// Heap is what is in use after a collection, over what was in use before
	// the run. It holds the log and the history, so it grows with them.
	Heap int64 `json:"heap"`
	// Stack is what all goroutines' stacks take.
	Stack int64 `json:"stack"`
	// Frames is how deep the call of the model stands in its goroutine's stack,
	// Reader how deep the reader's body stood at its last event.
	Frames int `json:"frames"`
	Reader int `json:"reader"`
}

// KeptEach is how many bytes each cycle left behind from the mark before.
func (m Mark) KeptEach(before Mark) int64 {
	return (m.Heap - before.Heap) / int64(max(1, m.Cycles-before.Cycles))
}

// Endurance runs so many cycles of one tool call in one run, on the floor or on
// Braid, and notes what is held after every so many. The slow part is looking.
func Endurance(onBraid bool, total, every int) ([]Mark, error) {
	script := cycles(total, false)
	var marks []Mark
	var base int64
	reader := 0
	look := func(cycle, _ int) {
		if (cycle-1)%every != 0 {
			return
		}
		var m runtime.MemStats
		used := heap()
		runtime.ReadMemStats(&m)
		if cycle == 1 {
			base = used
		}
		marks = append(marks, Mark{
			Cycles: cycle - 1, Heap: used - base, Stack: int64(m.StackInuse),
			Frames: frames(), Reader: reader,
		})
	}
	side := Side{Name: "floor", Each: work(script)}
	var w Work
	if onBraid {
		side.Name = "braid"
		agent := braidAgent(&scripted{answers: braidChunks(script), called: look})
		err := readBraid(&w, watched(agent.Stream(context.Background(), "go"), &reader))
		if err != nil {
			return marks, err
		}
	} else {
		agent := floor.New("bench", &byHandModel{answers: byHandChunks(script), called: look}, byHandAdd())
		events := agent.Stream(context.Background(), floor.NewSession("s"), "go")
		if err := readByHand(&w, watched(events, &reader)); err != nil {
			return marks, err
		}
	}
	return marks, side.Compare(1, w)
}

// watched notes how deep the reader stands at each event.
func watched[E any](events iter.Seq2[E, error], depth *int) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		for e, err := range events {
			*depth = frames()
			if !yield(e, err) {
				return
			}
		}
	}
}

// frames is the depth of the caller's stack, up to a thousand.
func frames() int {
	var pcs [1000]uintptr
	return runtime.Callers(1, pcs[:])
}
