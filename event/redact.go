package event

import "encoding/json"

// Shown is what stands in place of what the redaction hides.
func (r *Redacted) Shown() []Block {
	if len(r.Replacement) == 0 {
		return []Block{&Text{Text: "[redacted]"}}
	}
	return r.Replacement
}

// Cover gives an event as it may be shown to clients and people once it is redacted: its
// content is replaced, unless the redaction is Clean. The tag "redacted" of a body's field says what
// becomes of it. Calls stay without their arguments and results without what they say, because others
// refer to them. An event without content stays as it is. Cover does not change e.
func (r *Redacted) Cover(e *Event) *Event {
	if r.Clean {
		return e
	}
	shown := *e
	shown.Body = r.covered(e.Body)
	return &shown
}

// shownResult is a tool's result without what it says.
func (r *Redacted) shownResult(b *ToolResult) *ToolResult {
	if b == nil {
		return nil
	}
	c := *b
	c.Content, c.Structured = r.Shown(), nil
	return &c
}

// shownWithCalls is what is shown of a message, and then its calls without their arguments.
func (r *Redacted) shownWithCalls(content []Block) []Block {
	list := append([]Block(nil), r.Shown()...)
	for _, c := range CallsOf(content) {
		list = append(list, &ToolCall{ID: c.ID, Name: c.Name, Args: []byte("{}")})
	}
	return list
}

// nulls are the keys of a state without their values.
func nulls(set map[string]json.RawMessage) map[string]json.RawMessage {
	c := make(map[string]json.RawMessage, len(set))
	for k := range set {
		c[k] = []byte("null")
	}
	return c
}
