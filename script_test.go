package braid_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// script is a model for tests: a function of the request that gives the chunks
// of the answer.
type script struct {
	calls atomic.Int64
	next  func(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error]
}

func (s *script) Info() model.Info { return model.Info{Name: "test:script"} }

func (s *script) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	s.calls.Add(1)
	return s.next(ctx, req)
}

// answers is a model that gives the nth answer in the nth cycle of a scope.
func answers(list ...[]model.Chunk) *script {
	return &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		return chunks(list[min(req.Cycle, len(list))-1])
	}}
}

func chunks(list []model.Chunk) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func failing(err error) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, err) }
}

// halfAnswer is what the model reads behind the part of an answer that had arrived when it was stopped.
const halfAnswer = "[The user interrupted this answer. Do not go on with it unless a later message asks for it.]"

// cutAnswer is what the model reads behind the part of an answer that had arrived when the run's time was over.
const cutAnswer = "[This answer was cut off, because the time of the request was over.]"

// interrupted is what the model reads behind what a run had done when it was stopped.
const interrupted = "[The user interrupted this request. Do not go on with it unless a later message asks for it.]"

// stopped is what the model reads behind a prompt that was stopped before its answer.
const stopped = "[The user stopped this request before it was answered. Do not answer it unless a later message asks for it.]"

// says is an answer of plain text.
func says(text string) []model.Chunk {
	return []model.Chunk{
		{Kind: model.ChunkText, Text: text},
		{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 10, Output: 5, Total: 15}},
		{Kind: model.ChunkStop, Stop: event.StopEndTurn},
	}
}

// asksFor is an answer with tool calls: name, arguments, name, arguments.
func asksFor(pairs ...string) []model.Chunk {
	var list []model.Chunk
	for i := 0; i < len(pairs); i += 2 {
		list = append(list,
			model.Chunk{Kind: model.ChunkCall, Index: i, ID: fmt.Sprintf("c%d", i/2), Text: pairs[i]},
			model.Chunk{Kind: model.ChunkCallInput, Index: i, Text: pairs[i+1]})
	}
	return append(list,
		model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 20, Output: 5, Total: 25}},
		model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse})
}

// given makes the input of a run of what a table holds: a text, a block or blocks, a message or messages.
func given(input any) (text string, more braid.SendOption) {
	switch in := input.(type) {
	case string:
		return in, nil
	case event.Block:
		return "", braid.Attach(in)
	case []event.Block:
		return "", braid.Attach(in...)
	case event.Message:
		return "", braid.History(in)
	default:
		return "", braid.History(input.([]event.Message)...)
	}
}

type addIn struct {
	A int `json:"a" jsonschema:"first number"`
	B int `json:"b" jsonschema:"second number"`
}

func add(_ context.Context, in addIn) (int, error) { return in.A + in.B, nil }

// lastResults are the tool results that the request ends with.
func lastResults(req *model.Request) []*event.ToolResult {
	var list []*event.ToolResult
	for _, b := range req.Messages[len(req.Messages)-1].Content {
		if r, ok := b.(*event.ToolResult); ok {
			list = append(list, r)
		}
	}
	return list
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
