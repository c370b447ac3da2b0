package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// answerMessage writes an assistant message of Chat Completions.
func (e *encoder) answerMessage(content []event.Block) {
	var text strings.Builder
	var thought thoughts
	calls := 0
	add := func(s string) {
		if strings.TrimSpace(s) == "" {
			return
		}
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(s)
	}
	for _, b := range content {
		switch b := b.(type) {
		case *event.Thinking:
			thought.add(b, e.host)
		case *event.ToolCall:
			calls++
		default:
			add(saidInWords(b))
		}
	}
	if text.Len() == 0 && calls == 0 {
		return
	}
	// Servers whose models think between tool calls want the thinking back, but only with the
	// calls. OpenAI neither returns it nor takes it in this API.
	where := ThinkingNowhere
	if calls > 0 && !e.vendors {
		where = thought.where(e.dialect)
	}
	e.raw(`{"role":"assistant","content":`)
	switch {
	case where == ThinkingParts:
		e.raw(`[{"type":"thinking","thinking":[{"type":"text","text":`)
		e.str(thought.text.String())
		e.raw(`}]}`)
		if text.Len() > 0 {
			e.raw(`,{"type":"text","text":`)
			e.str(text.String())
			e.raw(`}`)
		}
		e.raw(`]`)
	case text.Len() == 0:
		e.raw(`null`)
	default:
		e.str(text.String())
	}
	switch where {
	case ThinkingContent:
		e.raw(`,"reasoning_content":`)
		e.str(thought.text.String())
	case ThinkingMember:
		e.raw(`,"reasoning":`)
		e.str(thought.text.String())
	case ThinkingDetails:
		e.raw(`,"reasoning_details":`)
		e.raw(thought.details)
	default:
	}
	if calls > 0 {
		e.calls(content)
	}
	e.raw(`},`)
}

// calls writes the tool calls of a message.
func (e *encoder) calls(content []event.Block) {
	rule := callIDs
	if e.dialect != nil {
		rule.Exact = e.dialect.IDs
	}
	e.raw(`,"tool_calls":[`)
	for _, b := range content {
		c, ok := b.(*event.ToolCall)
		if !ok {
			continue
		}
		e.raw(`{"id":`)
		e.str(e.ids.Give(c.ID, rule))
		e.raw(`,"type":"function","function":{"name":`)
		e.str(toolNames.Wire(c.Name))
		e.raw(`,"arguments":`)
		e.arguments(c)
		e.raw(`}`)
		if signature := opaqueOf(c.Signature, markGoogle, e.host); signature != "" {
			e.raw(`,"extra_content":{"google":{"thought_signature":`)
			e.str(signature)
			e.raw(`}}`)
		}
		e.raw(`},`)
	}
	e.dst[len(e.dst)-1] = ']'
}

// answerItems writes an assistant message as items of Responses.
func (e *encoder) answerItems(content []event.Block) {
	last := -1    // the last item that reasoning can belong to
	code := false // set if code goes back as the vendor's items
	// The API refuses items of server-side tools without the reasoning before them.
	bare := !e.thinks && slices.ContainsFunc(content, sealed)
	for i, b := range content {
		switch b := b.(type) {
		case *event.ToolCall:
			last = i
		case *event.UnknownBlock:
			code = code || b.Name == own+codeItem && !bare
			if returns(b) && b.Name != own+compacted {
				last = i
			}
		default:
			if strings.TrimSpace(saidInWords(b)) != "" {
				last = i
			}
		}
	}
	for i, b := range content {
		switch b := b.(type) {
		case *event.Thinking:
			// The API refuses reasoning without the item after it. Only models that reason
			// accept reasoning.
			if id, sealed, ok := readSeal(b.Signature); ok && e.thinks && i < last {
				e.reasoning(id, sealed, b.Text)
			}
		case *event.ToolCall:
			e.raw(`{"type":"function_call","call_id":`)
			e.str(e.ids.Give(b.ID, callIDs))
			e.raw(`,"name":`)
			e.str(toolNames.Wire(b.Name))
			e.raw(`,"arguments":`)
			e.arguments(b)
			e.raw(`},`)
		case *event.Text:
			e.saidText(b)
		case *event.UnknownBlock:
			if !bare || b.Name == own+compacted {
				e.vendorsItem(b)
			}
		case *event.Code, *event.CodeResult:
			if !code {
				e.single(event.RoleAssistant, saidInWords(b))
			}
		default:
			if s := saidInWords(b); strings.TrimSpace(s) != "" {
				e.single(event.RoleAssistant, s)
			}
		}
	}
}

// sealed reports whether a block is reasoning that this vendor encrypted.
func sealed(b event.Block) bool {
	t, ok := b.(*event.Thinking)
	if !ok {
		return false
	}
	_, _, ok = readSeal(t.Signature)
	return ok
}

// saidText writes an assistant text as an item.
func (e *encoder) saidText(b *event.Text) {
	if strings.TrimSpace(b.Text) == "" {
		return
	}
	e.single(event.RoleAssistant, b.Text)
	if phase, ok := strings.CutPrefix(b.Signature, phaseMark); ok {
		e.dst = e.dst[:len(e.dst)-len(`},`)]
		e.raw(`,"phase":`)
		e.str(phase)
		e.raw(`},`)
	}
}

// saidInWords returns a block of an assistant message as text; "" if it has none.
func saidInWords(b event.Block) string {
	switch b := b.(type) {
	case *event.Text:
		return b.Text
	case *event.Code:
		return "```" + b.Language + "\n" + b.Code + "\n```"
	case *event.CodeResult:
		return "[" + b.Outcome + "] " + b.Output
	case *event.Image, *event.Document, *event.Media:
		// Neither API takes these kinds in assistant messages.
		return "[" + string(b.BlockKind()) + "]"
	default: // a citation repeats the text
		return ""
	}
}

func (e *encoder) reasoning(id, sealed, summary string) {
	e.raw(`{"type":"reasoning","id":`)
	e.str(id)
	e.raw(`,"summary":[`)
	if summary != "" {
		e.raw(`{"type":"summary_text","text":`)
		e.str(summary)
		e.raw(`}`)
	}
	e.raw(`],"encrypted_content":`)
	e.str(sealed)
	e.raw(`},`)
}

// vendorsItem writes an item of a vendor's kind unchanged.
func (e *encoder) vendorsItem(b *event.UnknownBlock) {
	if !returns(b) {
		return
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(b.Raw, &members) != nil {
		return
	}
	delete(members, "kind")
	raw, err := json.Marshal(members)
	if err != nil {
		return
	}
	e.dst = append(append(e.dst, raw...), ',')
}
