package model

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/braidrun/braid/event"
)

// Model is a language model that answers one request with one stream.
//
// Stream calls the model with req and yields the answer in chunks. Package
// model/modeltest checks every provider against this contract:
//
//   - Exactly one [ChunkStop] marks the answer as whole. Usage may come before or
//     after it. The loop treats a stream without it as cut.
//   - An error ends the stream. It is an *[event.Error] whose kind decides whether
//     the loop retries. The model itself never retries.
//   - Cancelling ctx ends the stream soon, with an error, and frees everything. The
//     loop abandons a model that ignores it after the grace period of the run's
//     limits; the abandoned goroutine ends when the model returns.
//   - Breaking out of the loop frees everything too.
//   - The model reads req and what it holds; it never changes or keeps them.
//
// A Model is safe for concurrent use.
type Model interface {
	// Info describes the model. It is cheap and never changes.
	Info() Info
	Stream(ctx context.Context, req *Request) iter.Seq2[Chunk, error]
}

// Info describes a model.
type Info struct {
	// Name is what users write, such as "demo:assistant".
	Name string
	// Simulated is set for models that follow a script. Everything that they
	// say is marked with it, on every surface.
	Simulated bool
	// Replay is set for models that repeat a recording (package model/cassette). Their
	// name is that of the recorded model.
	Replay bool
	// ContextWindow is in tokens; 0 is unknown.
	ContextWindow int
	// Output is set if the provider holds answers to a schema: the model takes
	// [Request].Output. Braid describes the schema to other models in words.
	Output bool
	// Setups is set if the provider takes changes of system prompt and tools inside a
	// conversation: the model reads [Request].Setups.
	Setups bool
	// Cost returns the price of a call in 1e-9 US dollars. It reports false if the
	// price is unknown, as a nil Cost does. It is safe for concurrent use.
	Cost func(event.Usage) (nanoUSD int64, known bool)
}

// Checker is a [Model] that checks settings, schemas and content before the first
// call. An agent calls Check with a request without messages when it is built, so
// that the developer sees the error and not the first user. It calls Check with a
// message of the user before a run begins; then Check also refuses the images,
// documents and recordings of the newest message that the model cannot read. Check
// makes no network connection; its error is an *[event.Error]. A Model that wraps
// another one has a method Unwrap() Model, through which the agent finds the check.
type Checker interface {
	Model
	Check(req *Request) error
}

// Cancellable is a [Model] whose calls always end as soon as their context does, so
// that the loop never has to abandon one. The loop calls such a model on the run's own
// goroutine, which saves two switches per call.
//
// The method Cancellable returns the model itself, a pointer. A model that embeds
// another one inherits a method that returns the embedded model, and so promises nothing.
type Cancellable interface {
	Model
	Cancellable() Model
}

// IsCancellable reports whether m keeps the promise of [Cancellable] itself.
func IsCancellable(m Model) bool {
	c, ok := m.(Cancellable)
	return ok && c.Cancellable() == m
}

// Request is one call of a model. Messages alternate between user and assistant,
// begin with user, and pair every tool call with its result.
type Request struct {
	// Instructions are the agent's system prompt.
	Instructions string
	// Messages are shared with the conversation's view: read only.
	Messages []event.Message
	Tools    []ToolSpec
	// ToolChoice restricts what the model does with Tools in this call. Its zero value
	// leaves the choice to the model.
	ToolChoice ToolChoice
	// Output holds the answer's text to a schema; nil leaves it free. The loop sets it
	// only for models with [Info].Output.
	Output *OutputSchema
	// Run, Scope, Cycle and Attempt identify the call.
	Run     string
	Scope   string
	Cycle   int
	Attempt int
	// Options are the agent's settings for its model.
	Options Options
	// Setups are the setups under which Messages were answered, oldest first, for models
	// with [Info].Setups. The first has From 0, the last holds Instructions and Tools. nil
	// means that neither has changed since the first message.
	Setups []Setup
}

// OutputSchema is the JSON schema that an answer's text must be valid under.
type OutputSchema struct {
	// Name is for providers that want one: letters, digits, _ and -.
	Name   string
	Schema json.RawMessage
}

// ToolChoice is what a model must do with its tools. The call fails with
// [event.ErrUnsupported] if the provider cannot enforce it.
type ToolChoice struct {
	Mode ToolMode
	// Tool names the tool to call, for [ToolsOne].
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
	// ToolsAny makes the model call at least one tool.
	ToolsAny ToolMode = "any"
	// ToolsNone forbids calls.
	ToolsNone ToolMode = "none"
	// ToolsOne makes the model call the tool named in [ToolChoice].
	ToolsOne ToolMode = "one"
)

// ToolSpec is [event.ToolSpec]: the description of a tool for a model.
type ToolSpec = event.ToolSpec

// ChunkKind says what a [Chunk] holds.
type ChunkKind uint8

// The kinds of chunks. Chunks with the same Index belong to the same block;
// blocks stand in the message in the order of their first chunk.
const (
	// ChunkText adds Text to a text block.
	ChunkText ChunkKind = iota + 1
	// ChunkThinking adds Text to a thinking block.
	ChunkThinking
	// ChunkSignature adds Text to the signature of the block at Index. ID, unless it is
	// empty, is the block's Prefix ([event.Thinking]).
	ChunkSignature
	// ChunkCall begins a tool call: ID and Text, the tool's name.
	ChunkCall
	// ChunkCallInput adds Text to the arguments of the call at Index.
	ChunkCallInput
	// ChunkBlock is a whole block: Block.
	ChunkBlock
	// ChunkUsage reports Usage; a later one replaces an earlier one.
	ChunkUsage
	// ChunkStop is the terminal signal: Stop.
	ChunkStop
	// ChunkResponse reports the provider's own id (ID) and model name (Text).
	ChunkResponse
	// ChunkRedactInput reports that a guardrail replaced the user's newest message:
	// models and clients see Text instead of it from now on.
	ChunkRedactInput
	// ChunkRedactOutput reports the same for the answer so far.
	ChunkRedactOutput
	// ChunkThinkingDropped reports that the request left out Index thinking blocks of
	// the history. Text is "refused" if the provider had refused them, or empty.
	ChunkThinkingDropped
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
