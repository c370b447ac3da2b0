package drive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/shorten"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// assembler puts a model's chunks together into the answer's blocks, and cuts
// the live bodies of its deltas from slabs, because one allocation a delta is
// what streaming costs most.
type assembler struct {
	begun time.Time
	first time.Duration
	// came is when the newest piece of content came.
	came     time.Time
	argBytes int

	blocks   []building
	stop     event.StopReason
	usage    event.Usage
	hasUsage bool
	// faults name what was impossible in the usage that the model reported.
	faults   []string
	response string
	model    string
	// dropped counts the thinking blocks that the request left out; refused says that the
	// provider had refused them.
	dropped int
	refused bool
	// taken stands for the person's newest message where a guardrail took it back.
	taken string
	// fault is what is wrong with a block that the model gave whole.
	fault error
	// room is how many bytes the answer may still have; bounded says that this is looked at.
	room    int
	bounded bool
	// sending is set while the reader has a piece of the answer.
	sending bool

	texts    []event.TextDelta
	thoughts []event.ThinkingDelta
	// inputs grows slowly: by eights, ten tool cycles (row b of the bench) take 2.9 KB more.
	inputs []event.ToolInputDelta
}

// building is a block that is still growing. Its last buffer is used again by later
// answers of the run.
type building struct {
	index int
	kind  model.ChunkKind
	// text is the end of the text, after the buffers that are full.
	text      []byte
	full      [][]byte
	signature string
	prefix    string
	id, name  string
	// over counts the bytes of arguments that were too many to keep.
	over  int
	block event.Block
}

// The sizes of buffers. Where they are small beside the whole text, the next one is an eighth of it.
const (
	firstBuffer = 64
	mostBuffer  = 1 << 10
)

// add adds a piece of the text. A buffer that is full is put aside, because growing it would copy it: so an answer of 500
// pieces (row a of the bench) takes 2 KB less.
func (b *building) add(text string) {
	if len(b.text)+len(text) > cap(b.text) {
		n := max(min(4*cap(b.text), mostBuffer), firstBuffer, b.size()/8, len(text))
		if len(b.text) > 0 {
			b.full = append(b.full, b.text)
		}
		b.text = make([]byte, 0, n)
	}
	b.text = append(b.text, text...)
}

// size is the length of the text.
func (b *building) size() int {
	n := len(b.text)
	for _, part := range b.full {
		n += len(part)
	}
	return n
}

// whole returns the text in one buffer, which stays the block's.
func (b *building) whole() []byte {
	if len(b.full) > 0 {
		b.text, b.full = slices.Concat(append(b.full, b.text)...), nil
	}
	return b.text
}

// words returns the text.
func (b *building) words() string {
	if len(b.full) == 0 {
		return string(b.text)
	}
	var all strings.Builder
	all.Grow(b.size())
	for _, part := range b.full {
		all.Write(part)
	}
	all.Write(b.text)
	return all.String()
}

// blockCost is what a block counts beside its bytes: it becomes events, and a tool call a goroutine.
const blockCost = 4 << 10

// mostInvalid bounds how much is kept of arguments that cannot be used, in bytes.
const mostInvalid = 1024

// full reports whether the answer is larger than it may be.
func (a *assembler) full() bool { return a.bounded && a.room < 0 }

// begin makes the assembler ready for a call, keeping its slabs.
func (a *assembler) begin(now time.Time, l *Limits) {
	a.begun, a.first, a.argBytes, a.sending = now, 0, l.ArgBytes, false
	a.room, a.bounded = l.AnswerBytes, l.AnswerBytes > 0
	a.blocks = a.blocks[:0]
	a.stop, a.usage, a.hasUsage, a.response, a.model, a.taken = "", event.Usage{}, false, "", "", ""
	a.fault = nil
	a.faults = nil
	a.dropped, a.refused = 0, false
}

// take adds a chunk. It gives the live body to send, or nil.
func (a *assembler) take(c *model.Chunk, now func() time.Time) event.Body {
	a.room -= len(c.Text) + len(c.ID)
	switch c.Kind {
	case model.ChunkText, model.ChunkThinking, model.ChunkCall, model.ChunkCallInput, model.ChunkBlock:
		a.came = now()
		if a.first == 0 {
			a.first = max(a.came.Sub(a.begun), 1)
		}
	}
	switch c.Kind {
	case model.ChunkText:
		b := a.at(c.Index, model.ChunkText)
		b.add(c.Text)
		if c.Text == "" {
			return nil
		}
		d := slot(&a.texts, 8)
		d.Text, d.Block = c.Text, c.Index
		return d
	case model.ChunkThinking:
		b := a.at(c.Index, model.ChunkThinking)
		b.add(c.Text)
		if c.Text == "" {
			return nil
		}
		d := slot(&a.thoughts, 8)
		d.Text, d.Block = c.Text, c.Index
		return d
	case model.ChunkSignature:
		for i := range a.blocks {
			if a.blocks[i].index == c.Index {
				a.blocks[i].signature += c.Text
				if c.ID != "" {
					a.blocks[i].prefix = c.ID
				}
				return nil
			}
		}
		b := a.at(c.Index, model.ChunkThinking)
		b.signature, b.prefix = c.Text, c.ID
	case model.ChunkCall:
		b := a.at(c.Index, model.ChunkCall)
		b.id, b.name = c.ID, c.Text
		d := slot(&a.inputs, 4)
		d.Call, d.Tool, d.Block = b.id, b.name, c.Index
		return d
	case model.ChunkCallInput:
		b := a.at(c.Index, model.ChunkCall)
		if a.argBytes > 0 && b.size()+len(c.Text) > a.argBytes {
			b.over += len(c.Text)
		} else {
			b.add(c.Text)
		}
		if c.Text == "" {
			return nil
		}
		d := slot(&a.inputs, 4)
		d.Call, d.Tool, d.JSON, d.Block = b.id, b.name, c.Text, c.Index
		return d
	case model.ChunkBlock:
		if err := foreign.FitBlock(c.Block); err != nil {
			a.fault = err
			return nil
		}
		a.room -= bytesOf([]event.Block{c.Block})
		a.at(c.Index, model.ChunkBlock).block = c.Block
	case model.ChunkUsage:
		if c.Usage != nil {
			// Every model's usage enters here, and nowhere else.
			a.usage, a.faults = c.Usage.Clip()
			a.hasUsage = true
		}
	case model.ChunkStop:
		a.stop = c.Stop
		if a.stop == "" {
			a.stop = event.StopEndTurn
		}
	case model.ChunkResponse:
		a.response, a.model = c.ID, c.Text
	case model.ChunkThinkingDropped:
		a.dropped, a.refused = max(c.Index, 0), c.Text != ""
	case model.ChunkRedactInput:
		a.taken = orRedacted(c.Text)
	case model.ChunkRedactOutput:
		a.came = now()
		// Calls go too: what may not be said may not be done.
		a.blocks = a.blocks[:0]
		text := orRedacted(c.Text)
		b := a.at(c.Index, model.ChunkText)
		b.text = append(b.text, text...)
		return &event.AnswerReplaced{Text: text, Block: c.Index}
	}
	return nil
}

// begunAnswer reports whether anything of an answer has come.
func (a *assembler) begunAnswer() bool {
	return len(a.blocks) > 0 || a.hasUsage || a.stop != "" || a.response != "" || a.model != "" || a.taken != ""
}

// used is what the call is known to have used. Where the provider gave no total,
// it is the sum, also for a call that failed.
func (a *assembler) used() event.Usage {
	u := a.usage
	if u.Total == 0 {
		u.Total = u.Prompt() + u.Output
	}
	return u
}

// at finds the block with this index and kind, or begins it. A provider that
// uses one index for two kinds gets two blocks.
func (a *assembler) at(index int, kind model.ChunkKind) *building {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if a.blocks[i].index == index && a.blocks[i].kind == kind {
			return &a.blocks[i]
		}
	}
	n := len(a.blocks)
	a.room -= blockCost
	if n < cap(a.blocks) {
		a.blocks = a.blocks[:n+1]
	} else {
		a.blocks = append(a.blocks, building{})
	}
	b := &a.blocks[n]
	*b = building{index: index, kind: kind, text: b.text[:0]}
	return b
}

// slabSize is how many elements the largest slab has. One more would not fit into 1,536 bytes of texts.
const slabSize = 63

// slot cuts the next element from a slab that grows by the factor by: a turn of one
// delta does not pay for many, and one of many pays once in slabSize.
func slot[T any](slab *[]T, by int) *T {
	if len(*slab) == cap(*slab) {
		n := min(max(cap(*slab)*by, 1), slabSize)
		*slab = make([]T, 0, n)
	}
	*slab = (*slab)[:len(*slab)+1]
	return &(*slab)[len(*slab)-1]
}

// content is the answer so far as blocks. What calls is decided here: a call in
// an answer that was cut short, refused or filtered was never meant to run and
// becomes text, so that the history stays valid.
func (a *assembler) content(w *Work) []event.Block {
	blocks := make([]event.Block, 0, len(a.blocks))
	calls := 0
	for i := range a.blocks {
		b := &a.blocks[i]
		switch b.kind {
		case model.ChunkText:
			if t := validText(b.words()); t != "" {
				blocks = append(blocks, &event.Text{Text: t, Signature: b.signature})
			}
		case model.ChunkThinking:
			blocks = append(blocks, &event.Thinking{Text: validText(b.words()), Signature: b.signature, Prefix: b.prefix})
		case model.ChunkCall:
			if !runsCalls(a.stop) && !a.complete(i) {
				blocks = append(blocks, &event.Text{Text: "[The call of " + strconv.Quote(b.name) +
					" was cut off and not run: the answer ended with " + string(a.stop) + ".]"})
				continue
			}
			c := &event.ToolCall{ID: b.id, Name: validText(b.name), Signature: b.signature}
			if c.ID == "" || slices.ContainsFunc(blocks, func(o event.Block) bool {
				t, ok := o.(*event.ToolCall)
				return ok && t.ID == c.ID
			}) {
				c.ID = w.callID(fold.CountCalls(blocks))
			}
			b.arguments(c, a.argBytes)
			if runsCalls(a.stop) {
				calls++
			}
			blocks = append(blocks, c)
		default:
			if b.block != nil {
				blocks = append(blocks, b.block)
			}
		}
	}
	if calls > 0 {
		a.stop = event.StopToolUse
	}
	if !runsCalls(a.stop) && fold.HasVendorBlocks(blocks) {
		blocks = fold.CloseOpenCalls(blocks, "was cut off: the answer ended with "+string(a.stop))
	}
	return blocks
}

// complete reports whether a call had arrived completely when the answer was cut at its token limit.
func (a *assembler) complete(i int) bool {
	b := &a.blocks[i]
	text := bytes.TrimSpace(b.whole())
	return a.stop == event.StopMaxTokens && b.over == 0 && (i < len(a.blocks)-1 || len(text) > 0) &&
		(len(text) == 0 || strictjson.Check(text, strictjson.DefaultDepth) == nil)
}

// runsCalls reports whether an answer with this stop reason means its calls.
func runsCalls(stop event.StopReason) bool {
	switch stop {
	case event.StopMaxTokens, event.StopRefusal, event.StopContentFiltered, event.StopGuardrail,
		event.StopContextOverflow, event.StopCancelled:
		return false
	default:
		return true
	}
}

// arguments sets the call's arguments, or says why they cannot be used.
func (b *building) arguments(c *event.ToolCall, limit int) {
	if b.over > 0 {
		c.Invalid = shorten.Text(validText(b.words()), mostInvalid, "…")
		c.Fault = fmt.Sprintf("the arguments are %s long, the limit is %s", size(b.size()+b.over), size(limit))
		return
	}
	text := bytes.TrimSpace(b.whole())
	if len(text) == 0 || string(text) == "null" {
		// Models send nothing for a tool without parameters.
		c.Args = EmptyObject
		return
	}
	if err := strictjson.Check(text, strictjson.DefaultDepth); err != nil {
		c.Invalid = shorten.Text(validText(b.words()), mostInvalid, "…")
		c.Fault = "the arguments are no usable JSON: " + err.Error()
		return
	}
	c.Args = bytes.Clone(text)
}

// EmptyObject is the arguments of a call without any.
var EmptyObject = json.RawMessage("{}")
