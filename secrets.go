package braid

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// WithSecrets gives the run's tools secrets by name, such as the token with which they work for the caller. A tool
// reads one with [SecretOf].
//
// Secrets are in this process's memory only, for as long as the run is driven: whoever drives the run later gives
// them again. Where a tool or a model repeats one it is replaced by [secret.Redacted] before it reaches a model, the
// log, a stream, a hook or an error, in all the forms that a [secret.Mask] finds, also in the live pieces of an
// answer. Thinking that repeats one is left out. Values of fewer than [secret.MaskFrom] bytes are not looked for. What the
// caller says, metadata, and the state of temporary keys stay as they are.
func WithSecrets(values map[string]secret.Secret) RunOption {
	return func(o *runOptions) {
		if o.secrets == nil {
			o.secrets = make(map[string]secret.Secret, len(values))
		}
		maps.Copy(o.secrets, values)
	}
}

// SecretOf returns the run's secret of this name, in a tool's context. It is empty where the run has none: it was given
// none, or is driven by another process than the one that was given it.
func SecretOf(ctx context.Context, name string) secret.Secret {
	c := CallOf(ctx)
	if c == nil {
		return secret.Secret{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rare().secrets[name]
}

// maskOf makes the mask of a run's secrets, but for those that may be shown.
func maskOf(secrets map[string]secret.Secret, shown []string) *secret.Mask {
	list := make([]secret.Secret, 0, len(secrets))
	for name, s := range secrets {
		if !slices.Contains(shown, name) {
			list = append(list, s)
		}
	}
	return secret.NewMask(list...)
}

// maskGuard is the guardrail that a mask is. It looks at what agents and tools say, and leaves no record.
func maskGuard(m *secret.Mask) []guard {
	if m == nil {
		return nil
	}
	return []guard{{name: "secrets", mask: m, places: []GuardPlace{GuardOutput, GuardResult}}}
}

// veil hides the run's secrets in the live pieces of one answer, also where a secret begins in one block and ends in
// another. Of a block that goes on after another one has begun nothing more is shown: the whole answer comes with its end.
type veil struct {
	mask *secret.Mask
	send func(event.Body) bool
	text *secret.MaskedParts
	// blocks are those that have begun, in order. The last one is under way.
	blocks []veiledBlock
	// left says that the reader wants no more.
	left bool
}

type veiledBlock struct {
	kind  ChunkKind
	block int
	// call and tool are those of a tool's input.
	call, tool string
}

// body makes the body for a text of the block.
func (b *veiledBlock) body(text string) event.Body {
	switch b.kind {
	case ChunkText:
		return &event.TextDelta{Text: text, Block: b.block}
	case ChunkThinking:
		return &event.ThinkingDelta{Text: text, Block: b.block}
	default:
		return &event.ToolInputDelta{Call: b.call, Tool: b.tool, JSON: text, Block: b.block}
	}
}

// newVeil makes the veil of one answer.
func newVeil(mask *secret.Mask, send func(event.Body) bool) *veil {
	v := &veil{mask: mask, send: send}
	v.text = mask.Parts(func(block int, text string) bool { return v.sent(v.blocks[block].body(text)) })
	return v
}

// pass sends a piece without secrets.
func (v *veil) pass(b event.Body) bool {
	switch b := b.(type) {
	case *event.TextDelta:
		return v.piece(veiledBlock{kind: ChunkText, block: b.Block}, b.Text)
	case *event.ThinkingDelta:
		return v.piece(veiledBlock{kind: ChunkThinking, block: b.Block}, b.Text)
	case *event.ToolInputDelta:
		kind := ChunkCallInput
		if b.JSON == "" {
			kind = ChunkCall // the call begins
		}
		return v.piece(veiledBlock{kind: kind, block: b.Block, call: v.mask.Hide(b.Call), tool: v.mask.Hide(b.Tool)}, b.JSON)
	case *event.AnswerReplaced:
		b.Text = v.mask.Hide(b.Text)
		v.text.Drop()
		v.blocks = v.blocks[:0]
	}
	return v.sent(b)
}

func (v *veil) piece(of veiledBlock, text string) bool {
	n := len(v.blocks)
	i := slices.IndexFunc(v.blocks, func(b veiledBlock) bool { return b.kind == of.kind && b.block == of.block })
	switch {
	case i < 0:
		v.blocks = append(v.blocks, of)
		n++
	case i < n-1:
		return true
	}
	v.text.Next(n-1, int(of.kind), text)
	return !v.left
}

func (v *veil) sent(b event.Body) bool {
	v.left = v.left || !v.send(b)
	return !v.left
}

// lift ends the pieces of an answer.
func (w *work) lift(v *veil, a *assembler) {
	if v.left {
		return
	}
	if t := w.turn; t != nil {
		if !t.begin() {
			return
		}
		defer t.release(a)
	}
	a.sending = true
	v.text.End()
	a.sending = false
}

// masked hides the run's secrets in what other guardrails do not look at.
func (s *sieve) masked(text string) string {
	for i := range s.guards {
		text = s.guards[i].mask.Hide(text)
	}
	return text
}

// maskedJSON is masked for the texts of a JSON value.
func (s *sieve) maskedJSON(raw json.RawMessage) json.RawMessage {
	for i := range s.guards {
		if s.guards[i].mask != nil {
			only := sieve{ctx: s.ctx, guards: s.guards[i : i+1]}
			raw = only.json(raw)
		}
	}
	return raw
}

// maskedCall is masked for what else a model says in a call.
func (s *sieve) maskedCall(b *event.ToolCall) *event.ToolCall {
	id, name, fault, signature := s.masked(b.ID), s.masked(b.Name), s.masked(b.Fault), s.masked(b.Signature)
	if id == b.ID && name == b.Name && fault == b.Fault && signature == b.Signature {
		return b
	}
	c := *b
	c.ID, c.Name, c.Fault, c.Signature = id, name, fault, signature
	return &c
}

// maskedWrites is what the call has written to the state, without secrets.
func (c *Call) maskedWrites(m *secret.Mask) map[string]json.RawMessage {
	if m == nil {
		return c.writes
	}
	s := sieve{ctx: c, guards: maskGuard(m)}
	for key, value := range c.writes {
		c.writes[key] = s.json(value)
	}
	return c.writes
}

// goesOn hides in a text of progress the rest of a secret that those before it have begun.
func (c *Call) goesOn(guards []guard, text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.more == nil || len(c.more.secrets) == 0 {
		return text
	}
	for i := range guards {
		if m := guards[i].mask; m != nil {
			text, c.more.progress = m.Behind(c.more.progress, text)
		}
	}
	return text
}

// maskedAcross hides secrets that begin in one block and end in another: in text, in thinking, and from one to the other.
// Thinking that has a part of one is left out. The blocks that were given stay as they are.
func (s *sieve) maskedAcross(in []event.Block) []event.Block {
	if len(in) < 2 {
		return in
	}
	for i := range s.guards {
		if m := s.guards[i].mask; m != nil {
			text := func(b event.Block) bool { _, ok := b.(*event.Text); return ok }
			thinking := func(b event.Block) bool { _, ok := b.(*event.Thinking); return ok }
			in = across(m, in, func(b event.Block) bool { return text(b) || thinking(b) })
			in = across(m, in, text)
			in = across(m, in, thinking)
		}
	}
	return in
}

// across hides secrets in blocks of text and thinking that are read one after another, without those between them.
func across(m *secret.Mask, in []event.Block, read func(event.Block) bool) []event.Block {
	var at []int
	var texts []string
	for k, b := range in {
		if !read(b) {
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
				in[k] = taken
			}
		}
	}
	return in
}
