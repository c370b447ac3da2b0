package fold

import "github.com/braidrun/braid/event"

func joinBlocks(a, b []event.Block) []event.Block {
	joined := make([]event.Block, 0, len(a)+len(b))
	return append(append(joined, a...), b...)
}

// CountCalls counts the tool calls among the blocks of a message.
func CountCalls(blocks []event.Block) int {
	n := 0
	for _, b := range blocks {
		if _, ok := b.(*event.ToolCall); ok {
			n++
		}
	}
	return n
}
