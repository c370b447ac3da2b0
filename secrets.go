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

// veil hides the run's secrets in the live pieces of one answer. Of a block that goes on after another one has
// begun nothing more is shown: the whole answer comes with its end.
type veil struct {
	mask *secret.Mask
	send func(event.Body) bool
	// text is the block under way, at its place, and over are those that have ended.
	text *secret.MaskedText
	at   veiledBlock
	over []veiledBlock
	// last makes the body for what was held back, and left says that the reader wants no more.
	last func(text string) event.Body
	left bool
}

type veiledBlock struct {
	kind  ChunkKind
	block int
}

// pass sends a piece without secrets. It changes the piece.
func (v *veil) pass(b event.Body) bool {
	switch b := b.(type) {
	case *event.TextDelta:
		return v.piece(veiledBlock{ChunkText, b.Block}, b, &b.Text, func(text string) event.Body {
			return &event.TextDelta{Text: text, Block: b.Block}
		})
	case *event.ThinkingDelta:
		return v.piece(veiledBlock{ChunkThinking, b.Block}, b, &b.Text, func(text string) event.Body {
			return &event.ThinkingDelta{Text: text, Block: b.Block}
		})
	case *event.ToolInputDelta:
		b.Call, b.Tool = v.mask.Hide(b.Call), v.mask.Hide(b.Tool)
		if b.JSON == "" {
			return v.end() && v.sent(b)
		}
		return v.piece(veiledBlock{ChunkCallInput, b.Block}, b, &b.JSON, func(text string) event.Body {
			return &event.ToolInputDelta{Call: b.Call, Tool: b.Tool, JSON: text, Block: b.Block}
		})
	case *event.AnswerReplaced:
		b.Text = v.mask.Hide(b.Text)
		v.text, v.over = nil, nil
	}
	return v.sent(b)
}

func (v *veil) piece(at veiledBlock, b event.Body, text *string, rest func(string) event.Body) bool {
	if v.text == nil || v.at != at {
		if slices.Contains(v.over, at) {
			return true
		}
		if !v.end() {
			return false
		}
		v.text, v.at = v.mask.Text(), at
	}
	v.last = rest
	*text = v.text.Next(*text)
	return *text == "" || v.sent(b)
}

// end sends what was held back of the block under way.
func (v *veil) end() bool {
	if v.text == nil {
		return true
	}
	text := v.text.End()
	v.text, v.over = nil, append(v.over, v.at)
	return text == "" || v.sent(v.last(text))
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
	v.end()
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

// goesOn hides in a text of progress the rest of a secret that the one before it has begun.
func (c *Call) goesOn(guards []guard, text string) string {
	if text == "" {
		return text
	}
	c.mu.Lock()
	before := c.rare().progress
	if c.more != nil && len(c.more.secrets) > 0 {
		c.more.progress = text
	}
	c.mu.Unlock()
	for i := range guards {
		for _, p := range guards[i].mask.Find(before + text) {
			if p[0] < len(before) && p[1] > len(before) {
				return secret.Redacted + text[p[1]-len(before):]
			}
		}
	}
	return text
}

// maskedAcross hides secrets that begin in one block of text and end in another. The blocks that were given stay as they are.
func (s *sieve) maskedAcross(in []event.Block) []event.Block {
	for i := range s.guards {
		m := s.guards[i].mask
		if m == nil {
			continue
		}
		var at []int
		var texts []string
		for k, b := range in {
			if b, ok := b.(*event.Text); ok {
				at, texts = append(at, k), append(texts, b.Text)
			}
		}
		if !m.Across(texts) {
			continue
		}
		in = slices.Clone(in)
		for n, k := range at {
			if b, ok := in[k].(*event.Text); ok && b.Text != texts[n] {
				in[k] = &event.Text{Text: texts[n], Signature: b.Signature}
			}
		}
	}
	return in
}
