package braid_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// script is a model for tests: a function of the request that gives the chunks
// of the answer.
type script struct {
	calls atomic.Int64
	next  func(ctx context.Context, req *braid.ModelRequest) iter.Seq2[braid.Chunk, error]
}

func (s *script) Info() braid.ModelInfo { return braid.ModelInfo{Name: "test:script"} }

func (s *script) Stream(ctx context.Context, req *braid.ModelRequest) iter.Seq2[braid.Chunk, error] {
	s.calls.Add(1)
	return s.next(ctx, req)
}

// answers is a model that gives the nth answer in the nth cycle of a scope.
func answers(list ...[]braid.Chunk) *script {
	return &script{next: func(_ context.Context, req *braid.ModelRequest) iter.Seq2[braid.Chunk, error] {
		return chunks(list[min(req.Cycle, len(list))-1])
	}}
}

func chunks(list []braid.Chunk) iter.Seq2[braid.Chunk, error] {
	return func(yield func(braid.Chunk, error) bool) {
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func failing(err error) iter.Seq2[braid.Chunk, error] {
	return func(yield func(braid.Chunk, error) bool) { yield(braid.Chunk{}, err) }
}

// stopped is what the model reads behind a prompt that was stopped before its answer.
const stopped = "[The user stopped this request before it was answered. Do not answer it unless a later message asks for it.]"

// says is an answer of plain text.
func says(text string) []braid.Chunk {
	return []braid.Chunk{
		{Kind: braid.ChunkText, Text: text},
		{Kind: braid.ChunkUsage, Usage: &event.Usage{Input: 10, Output: 5, Total: 15}},
		{Kind: braid.ChunkStop, Stop: event.StopEndTurn},
	}
}

// asksFor is an answer with tool calls: name, arguments, name, arguments.
func asksFor(pairs ...string) []braid.Chunk {
	var list []braid.Chunk
	for i := 0; i < len(pairs); i += 2 {
		list = append(list,
			braid.Chunk{Kind: braid.ChunkCall, Index: i, ID: fmt.Sprintf("c%d", i/2), Text: pairs[i]},
			braid.Chunk{Kind: braid.ChunkCallInput, Index: i, Text: pairs[i+1]})
	}
	return append(list,
		braid.Chunk{Kind: braid.ChunkUsage, Usage: &event.Usage{Input: 20, Output: 5, Total: 25}},
		braid.Chunk{Kind: braid.ChunkStop, Stop: event.StopToolUse})
}

type addIn struct {
	A int `json:"a" jsonschema:"first number"`
	B int `json:"b" jsonschema:"second number"`
}

func add(_ context.Context, in addIn) (int, error) { return in.A + in.B, nil }

// lastResults are the tool results that the request ends with.
func lastResults(req *braid.ModelRequest) []*event.ToolResult {
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
