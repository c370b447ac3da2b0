package guardrail

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// WithholdDeltas returns a sink that drops the live pieces of an answer, because checks need the whole answer first.
func WithholdDeltas(send func(event.Body) bool) func(event.Body) bool {
	return func(b event.Body) bool {
		switch b.(type) {
		case *event.TextDelta, *event.ThinkingDelta, *event.ToolInputDelta, *event.AnswerReplaced:
			return true
		default:
			return send(b)
		}
	}
}

// MaskedDeltas hides secrets in the live pieces of one answer, even if a secret spans two blocks. It sends nothing
// more of a block once another block has begun: the complete answer follows at the end.
type MaskedDeltas struct {
	mask *secret.Mask
	send func(event.Body) bool
	text *secret.MaskedParts
	// blocks are the blocks that have begun, in order. Only the last one still grows.
	blocks  []deltaBlock
	stopped bool
}

// deltaKind distinguishes blocks that have the same number.
type deltaKind uint8

const (
	deltaText deltaKind = iota
	deltaThinking
	deltaCall
	deltaInput
)

// deltaBlock is a block of an answer that comes in pieces.
type deltaBlock struct {
	kind  deltaKind
	block int
	// call is the id of the tool call that the input belongs to.
	call, tool string
}

// MaskDeltas returns a masked sink in front of send. The mask must not be nil.
func MaskDeltas(mask *secret.Mask, send func(event.Body) bool) *MaskedDeltas {
	m := &MaskedDeltas{mask: mask, send: send}
	m.text = mask.Parts(func(block int, text string) bool { return m.pass(m.blocks[block].body(text)) })
	return m
}

// Send takes a live event. It reports whether the reader wants more.
func (m *MaskedDeltas) Send(b event.Body) bool {
	switch b := b.(type) {
	case *event.TextDelta:
		return m.piece(deltaBlock{kind: deltaText, block: b.Block}, b.Text)
	case *event.ThinkingDelta:
		return m.piece(deltaBlock{kind: deltaThinking, block: b.Block}, b.Text)
	case *event.ToolInputDelta:
		kind := deltaInput
		if b.JSON == "" {
			kind = deltaCall // the call begins
		}
		return m.piece(deltaBlock{kind: kind, block: b.Block, call: m.mask.Hide(b.Call), tool: m.mask.Hide(b.Tool)}, b.JSON)
	case *event.AnswerReplaced:
		b.Text = m.mask.Hide(b.Text)
		m.text.Drop()
		m.blocks = m.blocks[:0]
	}
	return m.pass(b)
}

// End sends what was held back, at the end of the answer.
func (m *MaskedDeltas) End() {
	if !m.stopped {
		m.text.End()
	}
}

// piece takes a piece of a block.
func (m *MaskedDeltas) piece(of deltaBlock, text string) bool {
	n := len(m.blocks)
	i := slices.IndexFunc(m.blocks, func(b deltaBlock) bool { return b.kind == of.kind && b.block == of.block })
	switch {
	case i < 0:
		m.blocks = append(m.blocks, of)
		n++
	case i < n-1:
		return true
	}
	m.text.Next(n-1, int(of.kind), text)
	return !m.stopped
}

// pass sends an event.
func (m *MaskedDeltas) pass(b event.Body) bool {
	m.stopped = m.stopped || !m.send(b)
	return !m.stopped
}

// body makes the event for a text of the block.
func (b *deltaBlock) body(text string) event.Body {
	switch b.kind {
	case deltaText:
		return &event.TextDelta{Text: text, Block: b.block}
	case deltaThinking:
		return &event.ThinkingDelta{Text: text, Block: b.block}
	default:
		return &event.ToolInputDelta{Call: b.call, Tool: b.tool, JSON: text, Block: b.block}
	}
}
