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
// content is replaced, unless the redaction is Clean. Calls stay without their arguments and results without what they
// say, because others refer to them. An event that says nothing stays as it is. e
// itself is not changed.
func (r *Redacted) Cover(e *Event) *Event {
	if r.Clean {
		return e
	}
	shown := *e
	switch b := e.Body.(type) {
	case *UserMessage:
		shown.Body = &UserMessage{Content: r.Shown(), Mail: b.Mail, Why: b.Why}
	case *AssistantMessage:
		body := *b
		body.Content = append([]Block(nil), r.Shown()...)
		for _, c := range CallsOf(b.Content) {
			body.Content = append(body.Content, &ToolCall{ID: c.ID, Name: c.Name, Args: []byte("{}")})
		}
		shown.Body = &body
	case *StepEnded:
		body := *b
		if b.Result != nil {
			result := *b.Result
			result.Content, result.Structured = r.Shown(), nil
			body.Result, body.Shown = &result, nil
		}
		shown.Body = &body
	case *ScopeOpened:
		body := *b
		body.Input = r.Shown()
		shown.Body = &body
	case *ScopeClosed:
		body := *b
		body.Output = r.Shown()
		shown.Body = &body
	case *Answered:
		shown.Body = &Answered{Token: b.Token, Value: []byte("null"), By: b.By}
	case *Asked:
		body := *b
		body.Prompt, body.Payload, body.Args = TextOf(r.Shown()), nil, nil
		shown.Body = &body
	case *RunEnded:
		body := *b
		body.Output, body.Partial = nil, ""
		shown.Body = &body
	case *StateChanged:
		body := &StateChanged{Delete: b.Delete, Set: make(map[string]json.RawMessage, len(b.Set))}
		for k := range b.Set {
			body.Set[k] = []byte("null")
		}
		shown.Body = body
	case *Setup:
		shown.Body = &Setup{Hidden: true}
	case *Notice:
		shown.Body = &Notice{Code: b.Code, Text: TextOf(r.Shown())}
	}
	return &shown
}
