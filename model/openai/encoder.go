package openai

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/toolname"
)

// encoder encodes messages for one of the APIs. It never fails: it converts content that the
// API refuses, so that a conversation begun with another provider can continue here.
// [Model.unsupported] checks the newest input before encoding.
type encoder struct {
	// Copied from the model.
	api             API
	vendors, thinks bool
	dialect         *Dialect
	host            string
	// prefix begins the addresses of files stored on the server.
	prefix string
	// office is set if the server reads Office documents, marks if messages have cache points.
	office, marks bool

	dst []byte
	ids toolname.IDs
	// head is the cached encoding of everything before the messages.
	head reqcache.Head[[]byte]
	// served are the server-side tools in the head, each with a trailing comma. nulled are the
	// optional members of strict tools, which are null if absent, by tool.
	served []byte
	nulled map[string]map[string]bool
	// output is the structured output of the last request.
	output output
	// parts is the content being written, and count the number of its parts. only is the text
	// if it is the single part. aside holds blocks of a result that its message cannot hold.
	parts []byte
	count int
	only  string
	aside []event.Block
	// point is the distance of the last message's cache point from the end of the message; 0
	// means none. texts is set if the last part is a text.
	point int
	texts bool
}

// toolNames is the APIs' rule for tool names: ^[a-zA-Z0-9_-]{1,64}$.
var toolNames = toolname.Usual

// callIDs is the rule for the ids of tool calls. Chat Completions bounds their length.
var callIDs = toolname.IDRule{Max: 40, Visible: true}
