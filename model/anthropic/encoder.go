package anthropic

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/toolname"
)

// encoder encodes messages for the API. It never fails: it converts content that the API
// refuses, so that a conversation begun with another provider can continue here.
// [Model.unsupported] checks the newest input before encoding.
type encoder struct {
	dst []byte
	ids toolname.IDs
	// head is the cached encoding of everything before the messages.
	head head
	// changes are the setup messages of the last request; see changed.
	changes []event.Message
	// cited is the end of the last text block, to which citations may still be added.
	cited int
	// compacts is set if the vendor's summaries are sent back. The API takes them only with
	// context management.
	compacts bool
	// blocks counts the blocks written for the current message. aside holds the images of
	// failed results.
	blocks int
	aside  []event.Block
	// chain tracks the thinking in dst.
	chain bound.Chain
	// files is set if images and documents must be sent as data and not by URL.
	files bool
}

// head caches the encoded request up to the messages, which seldom changes in a conversation.
// The zero value is ready to use.
type head struct {
	made         []byte
	full         bool
	instructions string
	tools        []model.ToolSpec
	server       [][]byte
}
