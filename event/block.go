package event

import "encoding/json"

// BlockKind names a content block in JSON. The list is append-only.
type BlockKind string

// The kinds of content blocks.
const (
	BlockText             BlockKind = "text"
	BlockThinking         BlockKind = "thinking"
	BlockRedactedThinking BlockKind = "redacted_thinking"
	BlockImage            BlockKind = "image"
	BlockDocument         BlockKind = "document"
	BlockMedia            BlockKind = "media"
	BlockToolCall         BlockKind = "tool_call"
	BlockToolResult       BlockKind = "tool_result"
	BlockCitation         BlockKind = "citation"
	BlockCode             BlockKind = "code"
	BlockCodeResult       BlockKind = "code_result"
)

// Block is a piece of a message. The interface is sealed; a kind that this
// version does not know is kept as [UnknownBlock].
type Block interface {
	// BlockKind is the block's name in JSON.
	BlockKind() BlockKind
	sealedBlock()
}

// Text is plain text.
type Text struct {
	Text string `json:"text"`
	// Signature is opaque and goes back to the provider as it came (Gemini's
	// thought signatures).
	Signature string `json:"signature,omitempty"`
}

// Thinking is the model's reasoning, with what the provider needs to take it back.
type Thinking struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
	// Prefix is the provider's fingerprint of the request that was answered, where
	// the model accepts its thinking only behind the same instructions, tools and
	// messages. The provider leaves the block out of a request once these differ.
	Prefix string `json:"prefix,omitempty"`
}

// RedactedThinking is reasoning that the provider shows to nobody but itself.
type RedactedThinking struct {
	Data string `json:"data"`
	// Prefix is as in [Thinking].
	Prefix string `json:"prefix,omitempty"`
}

// Image is a picture, held in Data or found at URL.
type Image struct {
	MIME string `json:"mime,omitempty"`
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
}

// Document is a file that the model is to read.
type Document struct {
	Name string `json:"name,omitempty"`
	MIME string `json:"mime,omitempty"`
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
	// Text is the content where it is plain text.
	Text string `json:"text,omitempty"`
}

// Media is sound or film, by reference only.
type Media struct {
	// Media is "audio" or "video".
	Media string `json:"media"`
	MIME  string `json:"mime,omitempty"`
	URL   string `json:"url"`
}

// ToolCall is the model's request to run a tool.
type ToolCall struct {
	// ID pairs the call with its result. It is unique within its message; a model may give
	// it again in a later one, and providers that mind are sent another one then.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is a JSON value, normally an object; nil where the model sent
	// something that cannot be used. Invalid then holds the beginning of what it
	// sent, and Fault says what is wrong with it.
	Args    json.RawMessage `json:"args,omitempty"`
	Invalid string          `json:"invalid,omitempty"`
	Fault   string          `json:"fault,omitempty"`
	// Signature is opaque and goes back to the provider as it came.
	Signature string `json:"signature,omitempty"`
}

// ToolResult is what the model is shown of a call's end.
type ToolResult struct {
	Call string `json:"call"`
	Name string `json:"name,omitempty"`
	// Content is what the model reads; Structured is the same as JSON, for programs.
	Content    []Block         `json:"content,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	IsError    bool            `json:"is_error,omitempty"`
}

// Citation backs the text before it.
type Citation struct {
	Title string `json:"title,omitempty"`
	URL   string `json:"url,omitempty"`
	// Quote is the text that is cited, Start and End its place in the source, in bytes.
	Quote string `json:"quote,omitempty"`
	Start int    `json:"start,omitempty"`
	End   int    `json:"end,omitempty"`
}

// Code is a program that the model's provider runs.
type Code struct {
	Language string `json:"language,omitempty"`
	Code     string `json:"code"`
	// ID is the provider's, which the result says too; "" is none.
	ID string `json:"id,omitempty"`
	// Signature is the provider's mark on the block, which goes back with it.
	Signature string `json:"signature,omitempty"`
}

// CodeResult is what came of it.
type CodeResult struct {
	// Outcome is "ok", "failed" or "timeout".
	Outcome string `json:"outcome,omitempty"`
	Output  string `json:"output,omitempty"`
	// ID is that of the program.
	ID string `json:"id,omitempty"`
	// Signature is the provider's mark on the block, which goes back with it.
	Signature string `json:"signature,omitempty"`
}

// BlockKind implements [Block].
func (*Text) BlockKind() BlockKind             { return BlockText }
func (*Thinking) BlockKind() BlockKind         { return BlockThinking }
func (*RedactedThinking) BlockKind() BlockKind { return BlockRedactedThinking }
func (*Image) BlockKind() BlockKind            { return BlockImage }
func (*Document) BlockKind() BlockKind         { return BlockDocument }
func (*Media) BlockKind() BlockKind            { return BlockMedia }
func (*ToolCall) BlockKind() BlockKind         { return BlockToolCall }
func (*ToolResult) BlockKind() BlockKind       { return BlockToolResult }
func (*Citation) BlockKind() BlockKind         { return BlockCitation }
func (*Code) BlockKind() BlockKind             { return BlockCode }
func (*CodeResult) BlockKind() BlockKind       { return BlockCodeResult }

func (*Text) sealedBlock()             {}
func (*Thinking) sealedBlock()         {}
func (*RedactedThinking) sealedBlock() {}
func (*Image) sealedBlock()            {}
func (*Document) sealedBlock()         {}
func (*Media) sealedBlock()            {}
func (*ToolCall) sealedBlock()         {}
func (*ToolResult) sealedBlock()       {}
func (*Citation) sealedBlock()         {}
func (*Code) sealedBlock()             {}
func (*CodeResult) sealedBlock()       {}
