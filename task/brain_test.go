package task_test

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/task"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}

// brain is a model whose answer is a function of the request. A token costs price nano-dollars; a negative price is unknown.
type brain struct {
	name  string
	price int64
	think func(ctx context.Context, req *model.Request) ([]model.Chunk, error)
}

func (b *brain) Info() model.Info {
	return model.Info{Name: b.name, Cost: func(u event.Usage) (int64, bool) { return b.price * u.Total, b.price >= 0 }}
}

func (b *brain) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		list, err := b.think(ctx, req)
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
		if err != nil {
			yield(model.Chunk{}, err)
		}
	}
}

// says is an answer of a text.
func says(text string) []model.Chunk {
	n := int64(len(text))
	return []model.Chunk{
		{Kind: model.ChunkText, Text: text},
		{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 10, Output: n, Total: 10 + n}},
		{Kind: model.ChunkStop, Stop: event.StopEndTurn},
	}
}

// asks is an answer of a scope with calls of the Task tool.
func asks(scope string, calls ...map[string]any) (list []model.Chunk) {
	for i, c := range calls {
		if c = maps.Clone(c); c["description"] == nil {
			c["description"] = "some work"
		}
		raw, err := json.Marshal(c)
		if err != nil {
			panic(err)
		}
		id := scope + "call_" + string(rune('a'+i))
		list = append(list, toolCall(i, id, task.Name, string(raw))...)
	}
	return append(list, model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 20, Output: 5, Total: 25}},
		model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse})
}

// toolCall is one call of an answer.
func toolCall(i int, id, name, args string) []model.Chunk {
	return []model.Chunk{{Kind: model.ChunkCall, Index: i, ID: id, Text: name}, {Kind: model.ChunkCallInput, Index: i, Text: args}}
}

// results are the texts of the results in the last message.
func results(req *model.Request) (list []string) {
	for _, b := range req.Messages[len(req.Messages)-1].Content {
		if r, ok := b.(*event.ToolResult); ok {
			list = append(list, event.TextOf(r.Content))
		}
	}
	return list
}

// echo answers with its name and what it is asked.
func echo(name string, price int64) *brain {
	return &brain{name: name, price: price, think: func(_ context.Context, req *model.Request) ([]model.Chunk, error) {
		return says(name + ": " + req.Messages[len(req.Messages)-1].Text()), nil
	}}
}

// lead asks for calls first, and then answers with their results.
func lead(calls ...map[string]any) *brain {
	return &brain{name: "m:lead", price: 7, think: func(_ context.Context, req *model.Request) ([]model.Chunk, error) {
		if len(req.Messages) == 1 {
			return asks(req.Scope, calls...), nil
		}
		return says(strings.Join(results(req), " | ")), nil
	}}
}

// ran are the scopes that a conversation's log has opened.
func ran(t *testing.T, conv *braid.Conversation) (list []*event.ScopeOpened) {
	t.Helper()
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.ScopeOpened); ok {
			list = append(list, b)
		}
	}
	return list
}
