package floor

import (
	"context"
	"encoding/json"
	"iter"
)

// Model is one streamed call to a language model.
type Model interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[Chunk, error]
}

// Request is what the model is asked. Messages are the session's own.
type Request struct {
	Instructions string
	Messages     []*Message
	Tools        []Spec
	// Cycle counts the model calls of the run from 1.
	Cycle int
}

// Spec is what a model is told about a tool.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// ChunkKind says what a chunk holds.
type ChunkKind uint8

// The kinds of chunks.
const (
	// ChunkText is a piece of text.
	ChunkText ChunkKind = iota + 1
	// ChunkCall begins a tool call: ID and Text, its name.
	ChunkCall
	// ChunkInput is a piece of the arguments of the call at Index.
	ChunkInput
	// ChunkWhole is a whole call: ID, Text and Args.
	ChunkWhole
	// ChunkUsage tells Usage.
	ChunkUsage
	// ChunkStop says that the answer is whole.
	ChunkStop
)

// Chunk is a piece of a model's answer.
type Chunk struct {
	Kind  ChunkKind
	Index int
	ID    string
	Text  string
	Args  []byte
	Usage *Usage
	Stop  string
}

// Tool is something that the model may call. Its function decodes its arguments itself.
type Tool struct {
	Spec
	Call func(ctx context.Context, args []byte) (string, error)
}

// Agent is a model with tools.
type Agent struct {
	name   string
	model  Model
	specs  []Spec
	byName map[string]*Tool
}

// New makes an agent. The tools are shared, not copied.
func New(name string, model Model, tools ...*Tool) *Agent {
	a := &Agent{name: name, model: model}
	if len(tools) > 0 {
		a.specs = make([]Spec, 0, len(tools))
		a.byName = make(map[string]*Tool, len(tools))
	}
	for _, t := range tools {
		a.specs = append(a.specs, t.Spec)
		a.byName[t.Name] = t
	}
	return a
}
