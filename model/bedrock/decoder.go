package bedrock

import (
	"encoding/json"
	"fmt"

	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
)

// decoder turns the events of an answer into chunks (API_runtime_ConverseStreamOutput). It
// skips events of unknown kinds and keeps blocks of unknown kinds as they are, because the API
// may add kinds at any time.
type decoder struct {
	family *family
	guard  *Guardrail
	// id is the request's id at AWS.
	id string
	// names maps tool names that were changed for the wire back to the agent's. serial keeps
	// only the first call of an answer.
	names  map[string]string
	serial bool
	yield  func(model.Chunk, error) bool
	// left is set when the caller stops reading.
	left bool

	r    strictjson.Reader
	open []openBlock
	// held counts the bytes that are collected instead of yielded piece by piece.
	held int
	// most bounds held and the bytes read, for tests; 0 means maxWhole and maxStream.
	most int
	// blocks, cited and calls count the blocks, citations and calls so far.
	blocks, cited, calls int

	// stamper stamps the thinking at the beginning of an answer; nil if the model does not bind
	// it. Later thinking gets no stamp and is never sent back, which the vendor allows
	// (…/preserved-thinking/prefix-checks).
	stamper *bound.Stamper
	// begun is set if the answer began with thinking, whose signature is opaque. spoke is set
	// once anything else was received.
	begun, spoke bool
	opaque       string

	stop          string
	stopped, told bool // a stop reason has come, and what follows it
	blocked       verdict
}

func (d *decoder) send(c model.Chunk) {
	if !d.left && !d.yield(c, nil) {
		d.left = true
	}
}

func read(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}

// blockKind is what an open block holds.
type blockKind uint8

const (
	textBlock blockKind = iota + 1
	thinkingBlock
	redactedBlock
	callBlock
	imageBlock
	otherBlock
	droppedBlock
)

// openBlock is a block between its first piece and its stop. The API's block numbers are not
// unique with every model, so Braid assigns its own.
type openBlock struct {
	wire, index int
	kind        blockKind
	// signed is set once a piece of its signature was received.
	signed bool
	// stamp is the Prefix of thinking.
	stamp string
	// tags splits a text of Nova into text and thinking. aside is set if the last piece was
	// thinking.
	tags  *splitter
	aside bool
	// data is the collected data; format is an image's format.
	data   []byte
	format string
	// name and other are the kind and the members of a block of a vendor's kind.
	name  string
	other map[string]json.RawMessage
	parts []json.RawMessage
}
