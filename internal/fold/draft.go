package fold

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// Draft is the fold of a step's live events: the output of a step in flight. The zero value is ready. It is not safe
// for concurrent use.
type Draft struct {
	blocks    []*growing
	committed int
	progress  *event.ToolProgress
	// size is the number of bytes kept in blocks.
	size int
	// holed reports whether text is missing, mute whether the newest progress is missing.
	holed, mute bool
}

// growing is a block that still grows. Its text is returned without a copy, because a strings.Builder never changes
// what it has returned.
type growing struct {
	block      int
	kind       event.BlockKind
	call, tool string
	text       strings.Builder
}

// growingCost is the memory that a block needs besides its text.
const growingCost = 96

// Add applies a live event of the step. most bounds the bytes that the draft keeps.
func (d *Draft) Add(body event.Body, most int) {
	switch b := body.(type) {
	case *event.TextDelta:
		d.grow(b.Block, event.BlockText, "", "", b.Text, most)
	case *event.ThinkingDelta:
		d.grow(b.Block, event.BlockThinking, "", "", b.Text, most)
	case *event.ToolInputDelta:
		d.grow(b.Block, event.BlockToolCall, b.Call, b.Tool, b.JSON, most)
	case *event.AnswerReplaced:
		// The replaced text is dropped, and so is a hole in it.
		d.blocks, d.size, d.holed = nil, 0, false
		d.grow(b.Block, event.BlockText, "", "", b.Text, most)
	case *event.ToolProgress:
		// Only the newest progress counts.
		d.progress, d.mute = b, len(b.Text)+len(b.Data) > most
		if d.mute {
			d.progress = nil
		}
	}
}

func (d *Draft) grow(block int, kind event.BlockKind, call, tool, text string, most int) {
	if d.holed {
		return // later text would not continue the kept text
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

// at finds a block. It searches backwards, because the last block usually grows.
func (d *Draft) at(block int, kind event.BlockKind) *growing {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if g := d.blocks[i]; g.block == block && g.kind == kind {
			return g
		}
	}
	return nil
}

// Miss records that a live event of the step was lost. Later text is dropped, because it would not continue the kept
// text.
func (d *Draft) Miss() { d.holed = true }

// Commit drops the next blocks of the draft, which the log now has. It counts from the first block that is not yet
// committed.
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

// Snapshot returns what the draft keeps, with the step that it belongs to.
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
