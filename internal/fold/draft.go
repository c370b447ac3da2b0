package fold

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// Draft is what a step in flight has said so far: the fold of its live events. The zero value is ready. It is not safe for
// concurrent use.
type Draft struct {
	blocks    []*growing
	committed int
	progress  *event.ToolProgress
	// size counts the bytes that are kept in blocks.
	size int
	// holed says that text is missing, mute that the newest progress is.
	holed, mute bool
}

// growing is a block that grows. Its text is handed out without a copy: a
// builder never changes what it has given.
type growing struct {
	block      int
	kind       event.BlockKind
	call, tool string
	text       strings.Builder
}

// growingCost is what a block takes beside its text.
const growingCost = 96

// Add takes in a live event of the step. most bounds the bytes that are kept.
func (d *Draft) Add(body event.Body, most int) {
	switch b := body.(type) {
	case *event.TextDelta:
		d.grow(b.Block, event.BlockText, "", "", b.Text, most)
	case *event.ThinkingDelta:
		d.grow(b.Block, event.BlockThinking, "", "", b.Text, most)
	case *event.ToolInputDelta:
		d.grow(b.Block, event.BlockToolCall, b.Call, b.Tool, b.JSON, most)
	case *event.AnswerReplaced:
		// What is taken back is kept no longer, and a hole in it is none any more.
		d.blocks, d.size, d.holed = nil, 0, false
		d.grow(b.Block, event.BlockText, "", "", b.Text, most)
	case *event.ToolProgress:
		// Only the last one counts: it takes the place of the one before.
		d.progress, d.mute = b, len(b.Text)+len(b.Data) > most
		if d.mute {
			d.progress = nil
		}
	}
}

func (d *Draft) grow(block int, kind event.BlockKind, call, tool, text string, most int) {
	if d.holed {
		return // what comes after a hole does not join on
	}
	g := d.at(block, kind)
	cost := len(text)
	if g == nil {
		cost += growingCost
	}
	if d.size+cost > most {
		d.holed = true
		return
	}
	d.size += cost
	if g == nil {
		g = &growing{block: block, kind: kind, call: call, tool: tool}
		d.blocks = append(d.blocks, g)
	}
	g.text.WriteString(text)
}

// at finds a block; the last one is the usual one.
func (d *Draft) at(block int, kind event.BlockKind) *growing {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if g := d.blocks[i]; g.block == block && g.kind == kind {
			return g
		}
	}
	return nil
}

// Miss says that a live event of the step was lost: text that comes after it does not join on.
func (d *Draft) Miss() { d.holed = true }

// Commit drops so many blocks that the log has of an answer that comes in pieces. Blocks are counted from the first.
func (d *Draft) Commit(blocks int) {
	d.committed += blocks
	d.blocks = slices.DeleteFunc(d.blocks, func(g *growing) bool {
		gone := g.block < d.committed
		if gone {
			d.size -= growingCost + g.text.Len()
		}
		return gone
	})
}

// Snapshot gives what is kept, and who said it.
func (d *Draft) Snapshot(head event.Header, begun *event.StepBegun) event.Snapshot {
	s := event.Snapshot{
		Header: head, Kind: begun.Step, Call: begun.Call, Tool: begun.Tool,
		Progress: d.progress, Truncated: d.holed || d.mute,
	}
	if len(d.blocks) > 0 {
		s.Blocks = make([]event.SnapshotBlock, len(d.blocks))
	}
	for i, g := range d.blocks {
		s.Blocks[i] = event.SnapshotBlock{Block: g.block, Kind: g.kind, Text: g.text.String(), Call: g.call, Tool: g.tool}
	}
	slices.SortStableFunc(s.Blocks, func(a, b event.SnapshotBlock) int { return a.Block - b.Block })
	return s
}
