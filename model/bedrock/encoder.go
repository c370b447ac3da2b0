package bedrock

import (
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/toolname"
)

// encoder encodes messages for the API (API_runtime_ContentBlock). It never fails: it converts
// content that the API or the model refuses, so that a conversation begun with another provider
// can continue here. [Model.unsupported] checks the newest input before encoding.
type encoder struct {
	family *family
	dst    []byte
	ids    toolname.IDs
	// said holds what the cache points and the guardrail need to know of each message.
	said []said
	// names are the names of the documents so far, with the position of each.
	names []docName
	// head is the cached encoding of everything before the messages.
	head reqcache.Head[head]
	// chain tracks the thinking in dst.
	chain bound.Chain

	// State of the current message: blocks and texts count what was written, aside holds files
	// that results cannot contain, last is the kind of the last block.
	blocks, texts, files int
	aside                []event.Block
	last                 lastBlock
	spans                []span
	inResult             bool
}

type said struct {
	end int
	// cacheable is set if a cache point may end the message.
	cacheable bool
	// asks is set if the message has user content. spans are the positions of its texts.
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

// text writes a text block. It skips blank text, which the API refuses.
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

// begin writes the beginning of a block.
func (e *encoder) begin(s string) {
	e.dst = append(e.dst, s...)
	e.blocks++
	e.last = plainBlock
}

func (e *encoder) key(s string) { e.dst = append(e.dst, s...) }

func (e *encoder) str(s string) { e.dst = strictjson.AppendString(e.dst, s) }

// head is the encoding of everything before the messages: the tools without the closing
// bracket, and the instructions.
type head struct{ tools, system []byte }

type docName struct {
	name string
	end  int
}
