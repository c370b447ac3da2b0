package bedrock

import (
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/toolname"
)

// encoder writes messages as the API takes them (API_runtime_ContentBlock). It
// never fails: what the API or the model does not take is turned into something
// that it does, by the rules that stand beside each kind, so that a history that
// was written under another provider goes on here. Whether the newest input can be
// sent is asked before, of [Model.unsupported].
type encoder struct {
	family *family
	dst    []byte
	ids    toolname.IDs
	// said tells of each message what the cache and the guardrail must know.
	said []said
	// names are those of the documents so far, and where each was given.
	names []docName
	// head is what stands in front of the messages.
	head reqcache.Head[head]
	// chain knows the thinking in dst.
	chain bound.Chain

	// Of the message that is being written: blocks and texts count what was
	// written, aside holds the files of results that cannot stand in them, last is
	// the kind of the last block.
	blocks, texts, files int
	aside                []event.Block
	last                 lastBlock
	spans                []span
	inResult             bool
}

type said struct {
	end int
	// cacheable says that a cache point may stand at its end.
	cacheable bool
	// asks says that a person speaks in it, spans where their texts stand.
	asks  bool
	spans []span
}

type span struct{ from, to int }

type lastBlock uint8

const (
	plainBlock lastBlock = iota
	resultBlock
	looseDocument // not a PDF
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

// Mark implements [reqcache.Encoder].
func (e *encoder) Mark() reqcache.Mark {
	return reqcache.Mark{End: len(e.dst), IDs: e.ids.Len(), Blocks: e.blocks}
}

// Cut implements [reqcache.Encoder].
func (e *encoder) Cut(to reqcache.Mark) {
	e.dst = e.dst[:to.End]
	e.chain.Cut(to.End)
	e.ids.Cut(to.IDs)
	for len(e.said) > 0 && e.said[len(e.said)-1].end > to.End {
		e.said = e.said[:len(e.said)-1]
	}
	for len(e.names) > 0 && e.names[len(e.names)-1].end >= to.End {
		e.names = e.names[:len(e.names)-1]
	}
}

// Size implements [reqcache.Encoder].
func (e *encoder) Size() int {
	h := e.head.Made()
	return cap(e.dst) + cap(h.tools) + cap(h.system) + 48*cap(e.said) + e.chain.Size()
}

const (
	userOpen   = `{"role":"user","content":[`
	answerOpen = `{"role":"assistant","content":[`
	shut       = `]},`
)

func (e *encoder) open(role string) {
	e.key(`{"role":"` + role + `","content":[`)
	e.blocks = 0
}

// shut ends a message. The API takes none without content, and no blank text.
func (e *encoder) shut() {
	if e.blocks == 0 {
		e.text("[nothing]")
	}
	e.dst = append(e.dst[:len(e.dst)-1], shut...)
}

// answer writes what the model said.
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
			// Hardly a model takes them from its own side.
			e.text("[" + string(b.BlockKind()) + "]")
		default: // a citation repeats what the text says
		}
	}
}

// thinking writes thinking that bears the signature of a model of this family.
// Without one it is not the model's any more, and is refused.
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

// mine takes the mark off what only its maker reads. Claude's bears none, and has
// no dot in it, as every other provider's mark.
func (e *encoder) mine(opaque string) (string, bool) {
	if e.family.claude {
		return opaque, opaque != "" && !strings.Contains(opaque, ".")
	}
	data, ok := strings.CutPrefix(opaque, own)
	return data, ok && data != "" && !e.family.nova
}

// input writes what came from people and tools, results first. Where a model wants
// them in turns of their own, it is given a word in between.
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
		// The API wants a text beside documents.
		e.text("The files are attached.")
	}
	if apart && len(e.dst) == from {
		// Nobody says anything: it is one turn.
		e.dst = e.dst[:at]
		e.dst[at-1] = ','
		e.blocks, e.last = blocks, resultBlock
	}
	return results
}

// content writes a block that a person's message and a result may hold.
func (e *encoder) content(b event.Block) {
	switch b := b.(type) {
	case *event.Text:
		e.text(b.Text)
	case *event.Image:
		e.image(b)
	case *event.Document:
		e.document(b)
	case *event.Media:
		e.media(b)
	case *event.Code:
		e.text("```" + b.Language + "\n" + b.Code + "\n```")
	case *event.CodeResult:
		e.text(b.Output)
	case *event.Citation:
		e.text(strings.TrimSpace(b.Quote + " " + b.URL))
	default: // thinking and calls are the model's; nobody else knows the rest
	}
}

// text writes a text, unless it is blank, which the API refuses.
func (e *encoder) text(s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	from := len(e.dst)
	e.begin(`{"text":`)
	e.str(s)
	e.key(`},`)
	e.texts++
	if !e.inResult {
		e.spans = append(e.spans, span{from, len(e.dst) - 1})
	}
}

// vendors writes a block of the vendor's own back as it came.
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
		return // Nova alone knows its tools
	}
	e.begin(string(raw))
	e.key(`,`)
}

// begin writes the beginning of a block.
func (e *encoder) begin(s string) {
	e.dst = append(e.dst, s...)
	e.blocks++
	e.last = plainBlock
}

func (e *encoder) key(s string) { e.dst = append(e.dst, s...) }
func (e *encoder) str(s string) { e.dst = strictjson.AppendString(e.dst, s) }
