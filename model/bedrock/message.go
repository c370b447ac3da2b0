package bedrock

import (
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/event"
)

// Encode writes a message and a comma.
func (e *encoder) Encode(m *event.Message) {
	e.blocks, e.texts, e.files, e.last, e.aside, e.spans = 0, 0, 0, plainBlock, e.aside[:0], nil
	s := said{asks: false}
	if m.Role == event.RoleAssistant {
		e.ids.Answer()
		e.open("assistant")
		e.answer(m.Content)
		end, blocks := e.chain.Trailing(len(e.dst))
		e.dst, e.blocks = e.dst[:end], e.blocks-blocks
		e.shut()
	} else {
		results := e.input(m.Content)
		e.shut()
		s.asks, s.spans = e.texts > 0, e.spans
		switch e.family.cache {
		case wholeCache:
			s.cacheable = e.last != looseDocument
		case textCache:
			s.cacheable = !results && e.files == 0
		default:
		}
	}
	s.end = len(e.dst)
	e.said = append(e.said, s)
	e.chain.Close(e.dst)
}

func (e *encoder) open(role string) {
	e.key(`{"role":"` + role + `","content":[`)
	e.blocks = 0
}

// shut ends a message. The API refuses messages without content and blank text.
func (e *encoder) shut() {
	if e.blocks == 0 {
		e.text("[nothing]")
	}
	e.dst = append(e.dst[:len(e.dst)-1], shut...)
}

// answer writes the content of an assistant message.
func (e *encoder) answer(content []event.Block) {
	for _, b := range content {
		switch b := b.(type) {
		case *event.Text:
			e.text(b.Text)
		case *event.Thinking:
			e.thinking(b)
		case *event.RedactedThinking:
			if data, mine := e.mine(b.Data); mine {
				from := len(e.dst)
				e.begin(`{"reasoningContent":{"redactedContent":`)
				e.str(data)
				e.key(`}},`)
				e.chain.Think(from, len(e.dst), b.Data, b.Prefix)
			}
		case *event.ToolCall:
			e.call(b)
		case *event.Code:
			e.text("```" + b.Language + "\n" + b.Code + "\n```")
		case *event.CodeResult:
			e.text("[" + b.Outcome + "] " + b.Output)
		case *event.UnknownBlock:
			e.vendors(b)
		case *event.Image, *event.Document, *event.Media:
			// Most models refuse these kinds in assistant messages.
			e.text("[" + string(b.BlockKind()) + "]")
		default: // a citation repeats the text
		}
	}
}

// thinking writes thinking with a signature of a model of this family. The API refuses thinking
// without its signature.
func (e *encoder) thinking(b *event.Thinking) {
	signature, mine := e.mine(b.Signature)
	if !mine {
		return
	}
	from := len(e.dst)
	e.begin(`{"reasoningContent":{"reasoningText":{"text":`)
	e.str(b.Text)
	e.key(`,"signature":`)
	e.str(signature)
	e.key(`}}},`)
	e.chain.Think(from, len(e.dst), b.Signature, b.Prefix)
}

// mine returns a signature without its mark, if this family produced it. Claude's signatures
// have no mark and contain no dot; those of all other providers do.
func (e *encoder) mine(opaque string) (string, bool) {
	if e.family.claude {
		return opaque, opaque != "" && !strings.Contains(opaque, ".")
	}
	data, ok := strings.CutPrefix(opaque, own)
	return data, ok && data != "" && !e.family.nova
}

// input writes the content of a user message, results first. If the model requires separate
// turns for results and user content, a short assistant message separates them.
func (e *encoder) input(content []event.Block) (results bool) {
	e.open("user")
	for _, b := range content {
		if r, ok := b.(*event.ToolResult); ok {
			e.result(r)
			results = true
		}
	}
	at, blocks := len(e.dst), e.blocks
	apart := e.family.split && results && !e.family.noTools
	if apart {
		e.shut()
		e.key(`{"role":"assistant","content":[{"text":"I have the results."}]},`)
		e.open("user")
	}
	from := len(e.dst)
	for _, b := range e.aside {
		e.content(b)
	}
	for _, b := range content {
		if _, ok := b.(*event.ToolResult); !ok {
			e.content(b)
		}
	}
	if e.files > 0 && e.texts == 0 {
		// The API requires a text beside documents.
		e.text("The files are attached.")
	}
	if apart && len(e.dst) == from {
		// There is no user content, so it stays one turn.
		e.dst = e.dst[:at]
		e.dst[at-1] = ','
		e.blocks, e.last = blocks, resultBlock
	}
	return results
}

// vendors writes a block of a vendor's kind unchanged.
func (e *encoder) vendors(b *event.UnknownBlock) {
	if !strings.HasPrefix(string(b.Name), own) {
		return
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(b.Raw, &members) != nil {
		return
	}
	delete(members, "kind")
	raw, err := json.Marshal(members)
	_, calls := members["toolUse"]
	_, results := members["toolResult"]
	if err != nil || len(members) != 1 || (calls || results) && !e.family.nova {
		return // only Nova knows its tools
	}
	e.begin(string(raw))
	e.key(`,`)
}
