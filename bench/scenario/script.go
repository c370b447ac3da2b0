package scenario

import (
	"fmt"
	"strings"

	"github.com/braidrun/braid/bench/floor"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// answer is what the scripted model says in one call, for both sides. All
// chunks are made before anything is timed: the model costs next to nothing.
type answer struct {
	pieces []string
	calls  []call
	// whole gives each call in one chunk, without deltas.
	whole bool
	stop  string
}

type call struct{ id, tool, args string }

const (
	stopTools = "tool_use"
	stopEnd   = "end_turn"
)

// text answers with n pieces of text of about a token each.
func text(n int) answer {
	a := answer{stop: stopEnd, pieces: make([]string, n)}
	for i := range a.pieces {
		a.pieces[i] = words[i%len(words)]
	}
	return a
}

// calls answers with n calls of the tool add; cycle keeps their ids apart.
func calls(cycle, n int, whole bool) answer {
	a := answer{stop: stopTools, whole: whole}
	for i := range n {
		a.calls = append(a.calls, call{
			id: fmt.Sprintf("call-%d-%d", cycle, i), tool: "add", args: `{"a":3,"b":5}`,
		})
	}
	return a
}

// cycles is a run of n cycles with one call each, and a last answer in text.
func cycles(n int, whole bool) []answer {
	script := make([]answer, 0, n+1)
	for i := range n {
		script = append(script, calls(i, 1, whole))
	}
	return append(script, text(1))
}

// work is what a reader sees of a run that follows the script.
func work(script []answer) Work {
	w := Work{Runs: 1}
	for i := range script {
		a := &script[i]
		w.Deltas += len(a.pieces)
		w.Calls += len(a.calls)
		w.Results += len(a.calls)
		if !a.whole {
			w.Deltas += 2 * len(a.calls)
		}
		w.Text = strings.Join(a.pieces, "")
	}
	return w
}

func byHandChunks(script []answer) [][]floor.Chunk {
	out := make([][]floor.Chunk, len(script))
	for i := range script {
		a := &script[i]
		for _, p := range a.pieces {
			out[i] = append(out[i], floor.Chunk{Kind: floor.ChunkText, Text: p})
		}
		for j, c := range a.calls {
			if a.whole {
				out[i] = append(out[i], floor.Chunk{
					Kind: floor.ChunkWhole, Index: j, ID: c.id, Text: c.tool, Args: []byte(c.args),
				})
				continue
			}
			out[i] = append(
				out[i],
				floor.Chunk{Kind: floor.ChunkCall, Index: j, ID: c.id, Text: c.tool},
				floor.Chunk{Kind: floor.ChunkInput, Index: j, Text: c.args},
			)
		}
		out[i] = append(
			out[i],
			floor.Chunk{Kind: floor.ChunkUsage, Usage: &floor.Usage{Input: 100, Output: 10}},
			floor.Chunk{Kind: floor.ChunkStop, Stop: a.stop},
		)
	}
	return out
}

func braidChunks(script []answer) [][]model.Chunk {
	out := make([][]model.Chunk, len(script))
	for i := range script {
		a := &script[i]
		for _, p := range a.pieces {
			out[i] = append(out[i], model.Chunk{Kind: model.ChunkText, Text: p})
		}
		for j, c := range a.calls {
			if a.whole {
				out[i] = append(out[i], model.Chunk{
					Kind: model.ChunkBlock, Index: j,
					Block: &event.ToolCall{ID: c.id, Name: c.tool, Args: []byte(c.args)},
				})
				continue
			}
			out[i] = append(
				out[i],
				model.Chunk{Kind: model.ChunkCall, Index: j, ID: c.id, Text: c.tool},
				model.Chunk{Kind: model.ChunkCallInput, Index: j, Text: c.args},
			)
		}
		out[i] = append(
			out[i],
			model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 100, Output: 10, Total: 110}},
			model.Chunk{Kind: model.ChunkStop, Stop: event.StopReason(a.stop)},
		)
	}
	return out
}
