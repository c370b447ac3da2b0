package cassette

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Version is the version of the format that this package writes.
const Version = 1

// MaxLine bounds the length of a line in bytes. A request with several images is far shorter.
const MaxLine = 64 << 20

// maxDepth bounds the nesting of a line.
const maxDepth = 600

// The kinds of lines.
const (
	lineHeader  = "cassette"
	lineModel   = "model"
	lineSetup   = "setup"
	lineRequest = "request"
	lineChunk   = "chunk"
	lineEnd     = "end"
	lineCost    = "cost"
)

// headerLine is the first line.
type headerLine struct {
	Kind     string     `json:"kind"`
	Version  int        `json:"version"`
	Recorded *time.Time `json:"recorded,omitempty"`
}

// modelLine holds a model's Info. Priced is set if its calls had a price.
type modelLine struct {
	Kind          string `json:"kind"`
	Model         int    `json:"model"`
	Name          string `json:"name"`
	Simulated     bool   `json:"simulated,omitempty"`
	ContextWindow int    `json:"context_window,omitempty"`
	Output        bool   `json:"output,omitempty"`
	Priced        bool   `json:"priced,omitempty"`
}

// costLine is the cost of a usage that no provider reported, such as the estimate for a call
// that was cut.
type costLine struct {
	Kind  string      `json:"kind"`
	Model int         `json:"model"`
	Usage event.Usage `json:"usage"`
	Cost  int64       `json:"cost_nano_usd"`
}

// setupLine holds the part that requests share besides their messages.
type setupLine struct {
	Kind         string       `json:"kind"`
	Setup        int          `json:"setup"`
	Instructions string       `json:"instructions,omitempty"`
	Tools        []toolLine   `json:"tools,omitempty"`
	Choice       *choiceLine  `json:"choice,omitempty"`
	Output       *outputLine  `json:"output,omitempty"`
	Options      *optionsLine `json:"options,omitempty"`
}

type toolLine struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

type choiceLine struct {
	Mode   model.ToolMode `json:"mode,omitempty"`
	Tool   string         `json:"tool,omitempty"`
	Serial bool           `json:"serial,omitempty"`
}

type outputLine struct {
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

type optionsLine struct {
	MaxTokens   int      `json:"max_tokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	StopWords   []string `json:"stop_words,omitempty"`
	Thinking    int      `json:"thinking,omitempty"`

	TopP         *float64                `json:"top_p,omitempty"`
	Seed         *int64                  `json:"seed,omitempty"`
	Effort       model.Effort            `json:"effort,omitempty"`
	ShowThinking bool                    `json:"show_thinking,omitempty"`
	Verbosity    string                  `json:"verbosity,omitempty"`
	ServiceTier  string                  `json:"service_tier,omitempty"`
	ServerTools  []serverToolLine        `json:"server_tools,omitempty"`
	Context      model.ContextManagement `json:"context,omitzero"`
	// Extra and Headers hold only names, because the values may be credentials.
	Extra   []string `json:"extra,omitempty"`
	Headers []string `json:"headers,omitempty"`
}

type serverToolLine struct {
	Kind    model.ServerToolKind `json:"kind"`
	MaxUses int                  `json:"max_uses,omitempty"`
	Domains []string             `json:"domains,omitempty"`
	Blocked []string             `json:"blocked,omitempty"`
	Stores  []string             `json:"stores,omitempty"`
	Name    string               `json:"name,omitempty"`
	URL     string               `json:"url,omitempty"`
	Tools   []string             `json:"tools,omitempty"`
}

// optionsOf returns the options in recorded form; nil if none is set.
func optionsOf(o *model.Options) *optionsLine {
	line := optionsLine{
		MaxTokens: o.MaxTokens, Temperature: o.Temperature, StopWords: o.StopWords, Thinking: o.Thinking, TopP: o.TopP, Seed: o.Seed,
		Effort: o.Effort, ShowThinking: o.ShowThinking, Verbosity: o.Verbosity, ServiceTier: o.ServiceTier, Context: o.Context,
		Extra: slices.Sorted(maps.Keys(o.Extra)), Headers: slices.Sorted(maps.Keys(o.Headers)),
	}
	for _, t := range o.ServerTools {
		line.ServerTools = append(line.ServerTools, serverToolLine{t.Kind, t.MaxUses, t.Domains, t.Blocked, t.Stores, t.Name, t.URL, t.Tools})
	}
	if reflect.ValueOf(line).IsZero() {
		return nil
	}
	return &line
}

// hidingThinking returns the options without ShowThinking, or nil if no other option is set. A
// replay ignores ShowThinking, because the recording holds the thinking or does not. So braid
// run replays the recordings of braid chat, which shows thinking.
func (o *optionsLine) hidingThinking() *optionsLine {
	if o == nil {
		return nil
	}
	line := *o
	line.ShowThinking = false
	if reflect.ValueOf(line).IsZero() {
		return nil
	}
	return &line
}

// requestLine is a request. Its messages follow the first Keep messages of the request As.
type requestLine struct {
	Kind     string            `json:"kind"`
	N        int               `json:"n"`
	Model    int               `json:"model"`
	Run      int               `json:"run,omitempty"`
	Scope    string            `json:"scope,omitempty"`
	Cycle    int               `json:"cycle,omitempty"`
	Attempt  int               `json:"attempt,omitempty"`
	Setup    int               `json:"setup"`
	As       int               `json:"as,omitempty"`
	Keep     int               `json:"keep,omitempty"`
	Messages []json.RawMessage `json:"messages,omitempty"`
}

// chunkLine is a [model.Chunk].
type chunkLine struct {
	Kind  string `json:"kind"`
	N     int    `json:"n"`
	At    int64  `json:"at_ns,omitempty"`
	Chunk string `json:"chunk"`
	Index int    `json:"index,omitempty"`
	ID    string `json:"id,omitempty"`
	Text  string `json:"text,omitempty"`
	// Base64 is the text if it is not valid UTF-8: an answer may be cut inside a character.
	Base64 []byte `json:"base64,omitempty"`
	// Block is a block. Verbatim is its text, if encoding it in a line would change it.
	Block    json.RawMessage `json:"block,omitempty"`
	Verbatim string          `json:"block_text,omitempty"`
	Usage    *event.Usage    `json:"usage,omitempty"`
	// Cost is the cost of the call at that usage, if it was known.
	Cost *int64           `json:"cost_nano_usd,omitempty"`
	Stop event.StopReason `json:"stop,omitempty"`
}

// endLine ends an exchange: without error, with an *event.Error, or with the text of another
// error. Left is set if the caller ended the call.
type endLine struct {
	Kind  string       `json:"kind"`
	N     int          `json:"n"`
	At    int64        `json:"at_ns,omitempty"`
	Error *event.Error `json:"error,omitempty"`
	Plain *string      `json:"plain,omitempty"`
	// Is is the kind of a Plain error, if it had one.
	Is   event.ErrorKind `json:"is,omitempty"`
	Left string          `json:"left,omitempty"`
}

// How the caller ended a call: its context was cancelled or exceeded its deadline, or it
// stopped reading the stream.
const (
	leftCancelled = "cancelled"
	leftDeadline  = "deadline"
	leftStopped   = "stopped"
)

// chunkNames are the kinds of chunks in the file. The list is append-only.
var chunkNames = [...]string{
	model.ChunkText:         "text",
	model.ChunkThinking:     "thinking",
	model.ChunkSignature:    "signature",
	model.ChunkCall:         "call",
	model.ChunkCallInput:    "call_input",
	model.ChunkBlock:        "block",
	model.ChunkUsage:        "usage",
	model.ChunkStop:         "stop",
	model.ChunkResponse:     "response",
	model.ChunkRedactInput:  "redact_input",
	model.ChunkRedactOutput: "redact_output",

	model.ChunkThinkingDropped: "thinking_dropped",
}

// appendLine writes v as a line.
func appendLine(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}
