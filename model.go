package braid

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/braidrun/braid/event"
)

// Model is the seam to a language model: one streamed call.
//
// Stream calls the model with req and yields its answer in chunks. The
// contract, to which package model/modeltest holds every provider:
//
//   - exactly one [ChunkStop] says that the answer is whole; usage may come
//     before or after it. A stream that ends without it is treated as cut.
//   - an error ends the stream; it is an *[event.Error] whose kind decides
//     whether the call is repeated. The model itself never repeats a call.
//   - cancelling ctx ends the stream soon, with an error, and frees everything. A model
//     that does not is left behind after [Limits].Grace; its goroutine ends when it comes back.
//   - breaking out of the loop frees everything too.
//   - req and what it holds are read, never changed or kept.
//
// A Model is safe for concurrent use.
type Model interface {
	// Info describes the model. It is cheap and never changes.
	Info() ModelInfo
	Stream(ctx context.Context, req *ModelRequest) iter.Seq2[Chunk, error]
}

// ModelInfo describes a model.
type ModelInfo struct {
	// Name is what users write, such as "demo:assistant".
	Name string
	// Simulated is set for models that follow a script. Everything that they
	// say is marked with it, on every surface.
	Simulated bool
	// Replay is set for models that repeat a recording (package model/cassette): they
	// are called what the recorded one was, and what they say is not new.
	Replay bool
	// ContextWindow is in tokens; 0 is unknown.
	ContextWindow int
	// Output says that the model can be held to a schema by its provider: it
	// takes [ModelRequest].Output. The others are told in words.
	Output bool
	// Cost gives the price of a call in 1e-9 US dollars; it reports false, and a
	// nil Cost means, that the price is not known. It is safe for concurrent use.
	Cost func(event.Usage) (nanoUSD int64, known bool)
}

// ModelChecker is a [Model] that knows beforehand what it cannot be asked: a schema
// that its provider cannot express, a setting that it does not have. It is given a
// request without messages when an agent is made, so that the maker hears of it and
// not the first user. Check makes no network connection; its error is an
// *[event.Error]. A Model that wraps another one has an Unwrap() Model, through
// which the check is found.
type ModelChecker interface {
	Model
	Check(req *ModelRequest) error
}

// CancellableModel is a [Model] that promises more: wherever a call stands, it ends as soon
// as its context does, so that nobody ever has to leave it behind. Such a model is called
// on the run's own goroutine, which saves each call the way to another one and back.
//
// Cancellable gives the model itself, a pointer. A model that embeds another one, and has
// the method from there, gives that other one by it, and has promised nothing.
type CancellableModel interface {
	Model
	Cancellable() Model
}

// Cancellable reports whether a model has promised what a [CancellableModel] does.
func Cancellable(m Model) bool {
	c, ok := m.(CancellableModel)
	return ok && c.Cancellable() == m
}

// ModelRequest is one call. Messages alternate between user and assistant,
// begin with user, and pair every tool call with its result.
type ModelRequest struct {
	// Instructions are the agent's system prompt.
	Instructions string
	// Messages are shared with the conversation's view: read only.
	Messages []event.Message
	Tools    []ToolSpec
	// ToolChoice says what the model must do about Tools in this call; its zero
	// value leaves it to the model.
	ToolChoice ToolChoice
	// Output holds the answer's text to a schema; nil leaves it free. It is set only
	// for models whose Info says that they take it.
	Output *OutputSchema
	// Run, Scope, Cycle and Attempt say which call this is.
	Run     string
	Scope   string
	Cycle   int
	Attempt int
	// Options are the agent's settings for its model.
	Options ModelOptions
}

// Tokens estimates how many tokens the model reads.
func (r *ModelRequest) Tokens() int64 { return r.tokens() }

// ModelOptions are the settings that providers share. Zero values leave a
// setting to the provider.
type ModelOptions struct {
	// MaxTokens bounds the answer.
	MaxTokens int
	// Temperature is nil for the provider's default.
	Temperature *float64
	StopWords   []string
	// Thinking is the token budget for reasoning.
	Thinking int
}

// OutputSchema is the JSON schema that an answer's text must be valid under.
type OutputSchema struct {
	// Name is for providers that want one: letters, digits, _ and -.
	Name   string
	Schema json.RawMessage
}

// ToolChoice is what a model must do about its tools. Where a provider cannot
// make it, the call fails with ErrUnsupported.
type ToolChoice struct {
	Mode ToolMode
	// Tool is the one to call, for ToolsOne.
	Tool string
	// Serial asks for at most one call in an answer.
	Serial bool
}

// ToolMode names a [ToolChoice].
type ToolMode string

// The modes of a choice.
const (
	// ToolsFree lets the model decide.
	ToolsFree ToolMode = ""
	// ToolsAny makes it call one of them, or several.
	ToolsAny ToolMode = "any"
	// ToolsNone keeps it from calling any.
	ToolsNone ToolMode = "none"
	// ToolsOne makes it call one that is named.
	ToolsOne ToolMode = "one"
)

// ToolSpec is what a model is told about a tool.
type ToolSpec struct {
	Name        string
	Description string
	// Schema is the JSON schema of the arguments: an object.
	Schema json.RawMessage
}

// ChunkKind says what a [Chunk] holds.
type ChunkKind uint8

// The kinds of chunks. Chunks with the same Index belong to the same block;
// blocks stand in the message in the order of their first chunk.
const (
	// ChunkText adds Text to a text block.
	ChunkText ChunkKind = iota + 1
	// ChunkThinking adds Text to a thinking block.
	ChunkThinking
	// ChunkSignature adds Text to the signature of the block at Index.
	ChunkSignature
	// ChunkCall begins a tool call: ID and Text, the tool's name.
	ChunkCall
	// ChunkCallInput adds Text to the arguments of the call at Index.
	ChunkCallInput
	// ChunkBlock is a whole block: Block.
	ChunkBlock
	// ChunkUsage tells Usage; a later one replaces an earlier one.
	ChunkUsage
	// ChunkStop is the terminal signal: Stop.
	ChunkStop
	// ChunkResponse tells the provider's own id (ID) and model name (Text).
	ChunkResponse
	// ChunkRedactInput says that a guardrail does not let the newest message of a
	// person stand: models and clients are shown Text instead of it from now on.
	ChunkRedactInput
	// ChunkRedactOutput says the same of all that this answer has said so far.
	ChunkRedactOutput
)

// Chunk is a piece of a model's answer, passed by value.
type Chunk struct {
	Kind  ChunkKind
	Index int
	ID    string
	Text  string
	Block event.Block
	Usage *event.Usage
	Stop  event.StopReason
}
