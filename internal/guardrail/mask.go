package guardrail

import (
	"encoding/json"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// Mask hides secrets in text that checks do not read.
func (f *Filter) Mask(text string) string {
	for i := range f.rules {
		text = f.rules[i].Mask.Hide(text)
	}
	return text
}

// MaskJSON is [Filter.Mask] for the texts of a JSON value.
func (f *Filter) MaskJSON(raw json.RawMessage) json.RawMessage {
	for i := range f.rules {
		if f.rules[i].Mask != nil {
			raw = New(f.ctx, f.rules[i:i+1]).JSON(raw)
		}
	}
	return raw
}

// maskCall hides secrets in the parts of a call that checks do not read.
func (f *Filter) maskCall(b *event.ToolCall) *event.ToolCall {
	id, name, fault, signature := f.Mask(b.ID), f.Mask(b.Name), f.Mask(b.Fault), f.Mask(b.Signature)
	if id == b.ID && name == b.Name && fault == b.Fault && signature == b.Signature {
		return b
	}
	c := *b
	c.ID, c.Name, c.Fault, c.Signature = id, name, fault, signature
	return &c
}

// maskAcross hides secrets that span blocks of text or thinking. It drops thinking that holds a part of a secret. It
// does not change the given slice.
func (f *Filter) maskAcross(in []event.Block) []event.Block {
	if len(in) < 2 {
		return in
	}
	for i := range f.rules {
		if m := f.rules[i].Mask; m != nil {
			text := func(b event.Block) bool { _, ok := b.(*event.Text); return ok }
			thinking := func(b event.Block) bool { _, ok := b.(*event.Thinking); return ok }
			in = across(m, in, func(b event.Block) bool { return text(b) || thinking(b) })
			in = across(m, in, text)
			in = across(m, in, thinking)
		}
	}
	return in
}

// across hides secrets in the blocks of text and thinking that reads selects, as if they were one text.
func across(m *secret.Mask, in []event.Block, reads func(event.Block) bool) []event.Block {
	var at []int
	var texts []string
	for k, b := range in {
		if !reads(b) {
			continue
		}
		switch b := b.(type) {
		case *event.Text:
			at, texts = append(at, k), append(texts, b.Text)
		case *event.Thinking:
			at, texts = append(at, k), append(texts, b.Text)
		}
	}
	if !m.Across(texts) {
		return in
	}
	in = slices.Clone(in)
	for n, k := range at {
		switch b := in[k].(type) {
		case *event.Text:
			if b.Text != texts[n] {
				in[k] = &event.Text{Text: texts[n], Signature: b.Signature}
			}
		case *event.Thinking:
			if b.Text != texts[n] {
				in[k] = dropped
			}
		}
	}
	return in
}
