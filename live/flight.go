package live

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// flight is a step in flight, as far as it has come.
type flight struct {
	head  event.Header
	begun event.StepBegun
	// owner is the drive that began it.
	owner *publisher
	// epoch is of its live events; 0 before the first one.
	epoch     int64
	blocks    []*growing
	committed int
	progress  *event.ToolProgress
	// size counts the bytes that are kept in blocks.
	size int
	// holed and mute say that text, or the last progress, is not all there.
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

// say takes in a live event of the step. most bounds what is kept.
func (f *flight) say(body event.Body, most int) {
	switch b := body.(type) {
	case *event.TextDelta:
		f.grow(b.Block, event.BlockText, "", "", b.Text, most)
	case *event.ThinkingDelta:
		f.grow(b.Block, event.BlockThinking, "", "", b.Text, most)
	case *event.ToolInputDelta:
		f.grow(b.Block, event.BlockToolCall, b.Call, b.Tool, b.JSON, most)
	case *event.AnswerReplaced:
		// What is taken back is kept no longer, and a hole in it is none any more.
		f.blocks, f.size, f.holed = nil, 0, false
		f.grow(b.Block, event.BlockText, "", "", b.Text, most)
	case *event.ToolProgress:
		// Only the last one counts: it takes the place of the one before.
		f.progress, f.mute = b, len(b.Text)+len(b.Data) > most
		if f.mute {
			f.progress = nil
		}
	}
}

func (f *flight) grow(block int, kind event.BlockKind, call, tool, text string, most int) {
	if f.holed {
		return // what comes after a hole does not join on
	}
	g := f.at(block, kind)
	cost := len(text)
	if g == nil {
		cost += growingCost
	}
	if f.size+cost > most {
		f.holed = true
		return
	}
	f.size += cost
	if g == nil {
		g = &growing{block: block, kind: kind, call: call, tool: tool}
		f.blocks = append(f.blocks, g)
	}
	g.text.WriteString(text)
}

// at finds a block; the last one is the usual one.
func (f *flight) at(block int, kind event.BlockKind) *growing {
	for i := len(f.blocks) - 1; i >= 0; i-- {
		if g := f.blocks[i]; g.block == block && g.kind == kind {
			return g
		}
	}
	return nil
}

// commit drops what an answer that comes in pieces has committed: its blocks
// are counted from the first.
func (f *flight) commit(blocks int) {
	f.committed += blocks
	f.blocks = slices.DeleteFunc(f.blocks, func(g *growing) bool {
		gone := g.block < f.committed
		if gone {
			f.size -= growingCost + g.text.Len()
		}
		return gone
	})
}

// snapshot is the step as it stands; n is the last live event that was taken in.
func (f *flight) snapshot(epoch, n int64) Snapshot {
	s := Snapshot{
		Header: f.head, Kind: f.begun.Step, Call: f.begun.Call, Tool: f.begun.Tool,
		Progress: f.progress, Truncated: f.holed || f.mute,
	}
	s.Epoch, s.N = epoch, n
	if len(f.blocks) > 0 {
		s.Blocks = make([]Block, len(f.blocks))
	}
	for i, g := range f.blocks {
		s.Blocks[i] = Block{Block: g.block, Kind: g.kind, Text: g.text.String(), Call: g.call, Tool: g.tool}
	}
	slices.SortStableFunc(s.Blocks, func(a, b Block) int { return a.Block - b.Block })
	return s
}
