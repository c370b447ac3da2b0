package agentcore

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/story"
)

// snapshot sends the unsent part of a step in flight, so that a reader who missed pieces
// continues without a gap. If the snapshot is truncated, it sends nothing: the end of the step
// repeats the whole answer.
func (enc *Encoder) snapshot(it *story.Item) {
	in := it.Snapshot
	if in.Kind != event.StepModel || in.Truncated {
		return
	}
	s := enc.scope(it.Agent)
	for i := range in.Blocks {
		b := &in.Blocks[i]
		n := 0
		if have := s.sent[b.Block]; have != nil {
			n = have.text.N
		}
		switch {
		case b.Kind == event.BlockToolCall && (n < len(b.Text) || n == 0):
			enc.input(s, &event.ToolInputDelta{Call: b.Call, Tool: b.Tool, JSON: b.Text[min(n, len(b.Text)):], Block: b.Block})
		case n >= len(b.Text):
		case b.Kind == event.BlockText:
			enc.text(s, b.Block, b.Text[n:])
		case b.Kind == event.BlockThinking:
			enc.thinking(s, b.Block, b.Text[n:])
		}
	}
}
