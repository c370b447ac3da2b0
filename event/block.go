package event

import "encoding/json"

// BlockKind names a content block in JSON. The list is append-only.
type BlockKind string

// Block is a piece of a message. The interface is sealed; a kind that this
// version does not know is kept as [UnknownBlock].
type Block interface {
	// BlockKind is the block's name in JSON.
	BlockKind() BlockKind
	size() int
}

// Text is plain text.
//
//event:block text
type Text struct {
	Text string `json:"text"`
	// Signature is opaque and goes back to the provider as it came (Gemini's
	// thought signatures).
	Signature string `json:"signature,omitempty"`
}

// Thinking is the model's reasoning, with what the provider needs to take it back.
//
//event:block thinking
type Thinking struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
	// Prefix is the provider's fingerprint of the request that was answered, where
	// the model accepts its thinking only behind the same instructions, tools and
	// messages. The provider leaves the block out of a request once these differ.
	Prefix string `json:"prefix,omitempty"`
}

// RedactedThinking is reasoning that the provider shows to nobody but itself.
//
//event:block redacted_thinking
type RedactedThinking struct {
	Data string `json:"data"`
	// Prefix is as in [Thinking].
	Prefix string `json:"prefix,omitempty"`
}

// Image is a picture, held in Data or found at URL.
//
//event:block image
type Image struct {
	MIME string `json:"mime,omitempty"`
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
}

// Document is a file that the model is to read.
//
//event:block document
type Document struct {
	Name string `json:"name,omitempty"`
	MIME string `json:"mime,omitempty"`
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
	// Text is the content where it is plain text.
	Text string `json:"text,omitempty"`
}

// Media is sound or film, by reference only.
//
//event:block media
type Media struct {
	// Media is "audio" or "video".
	Media string `json:"media"`
	MIME  string `json:"mime,omitempty"`
	URL   string `json:"url"`
}

// ToolCall is the model's request to run a tool.
//
//event:block tool_call
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
//
//event:block tool_result
type ToolResult struct {
	Call string `json:"call"`
	Name string `json:"name,omitempty"`
	// Content is what the model reads; Structured is the same as JSON, for programs.
	Content    []Block         `json:"content,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	IsError    bool            `json:"is_error,omitempty"`
}

// Citation backs the text before it.
//
//event:block citation
type Citation struct {
	Title string `json:"title,omitempty"`
	URL   string `json:"url,omitempty"`
	// Quote is the text that is cited, Start and End its place in the source, in bytes.
	Quote string `json:"quote,omitempty"`
	Start int    `json:"start,omitempty"`
	End   int    `json:"end,omitempty"`
}

// Code is a program that the model's provider runs.
//
//event:block code
type Code struct {
	Language string `json:"language,omitempty"`
	Code     string `json:"code"`
	// ID is the provider's, which the result says too; "" is none.
	ID string `json:"id,omitempty"`
	// Signature is the provider's mark on the block, which goes back with it.
	Signature string `json:"signature,omitempty"`
}

// CodeResult is what came of it.
//
//event:block code_result
type CodeResult struct {
	// Outcome is "ok", "failed" or "timeout".
	Outcome string `json:"outcome,omitempty"`
	Output  string `json:"output,omitempty"`
	// ID is that of the program.
	ID string `json:"id,omitempty"`
	// Signature is the provider's mark on the block, which goes back with it.
	Signature string `json:"signature,omitempty"`
}
