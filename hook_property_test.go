package braid_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
)

// anyBlocks generates what a careless hook may put into a message.
func anyBlocks(t *rapid.T) (list []event.Block) {
	for range rapid.IntRange(0, 3).Draw(t, "blocks") {
		id := rapid.SampledFrom([]string{"c0", "c1", ""}).Draw(t, "id")
		list = append(list, rapid.SampledFrom([]event.Block{
			&event.Text{Text: "words"}, &event.Text{Text: "words"}, &event.Text{Text: " "}, (*event.Text)(nil), nil,
			&event.ToolCall{ID: id, Name: "look", Args: []byte("{}")},
			&event.ToolResult{Call: id, Name: "look", Content: []event.Block{&event.Text{Text: "seen"}}},
			&event.ToolResult{Call: id, Name: "look", Content: []event.Block{&event.ToolCall{ID: id, Name: "look"}}},
			&event.Image{MIME: "image/png", Data: []byte("x")},
		}).Draw(t, "block"))
	}
	return list
}

func anyMessages(t *rapid.T) (list []event.Message) {
	for range rapid.IntRange(0, 5).Draw(t, "messages") {
		role := rapid.SampledFrom([]event.Role{event.RoleUser, event.RoleAssistant}).Draw(t, "role")
		list = append(list, event.Message{Role: role, Content: anyBlocks(t)})
	}
	return list
}

// drawn generates values before a run, because its hooks run on other goroutines. It returns one after another.
func drawn[T any](t *rapid.T, one func(*rapid.T) T) func() T {
	var list []T
	for range 5 {
		list = append(list, one(t))
	}
	var n atomic.Int64
	return func() T { return list[int(n.Add(1))%len(list)] }
}

// Whatever hooks hand in, every request that reaches a model keeps the promise of model.Request, in this run and in
// the next one, and a run fails only with an error that says so.
func TestNoHookBreaksARequest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := func(place string) bool { return rapid.IntRange(0, 2).Draw(t, place) == 0 }
		input, request := at("before the run"), at("before the model")
		answer, result, more, summary := at("after the model"), at("after the tool"), at("after the run"), at("before a compaction")
		blocks, messages := drawn(t, anyBlocks), drawn(t, anyMessages)
		hooks := braid.Parts(
			braid.On(func(_ context.Context, e *hook.BeforeRun) error {
				if input {
					e.Input = append(messages(), e.Input...)
				}
				return nil
			}),
			braid.On(func(_ context.Context, e *hook.BeforeModel) error {
				if request {
					e.Request.Messages = append(e.Request.Messages, messages()...)
				}
				return nil
			}),
			braid.On(func(_ context.Context, e *hook.AfterModel) error {
				if answer && e.Message != nil {
					e.Message.Content = append(e.Message.Content, blocks()...)
				}
				return nil
			}),
			braid.On(func(_ context.Context, e *hook.AfterTool) error {
				if result {
					e.Result.Content = blocks()
				}
				return nil
			}),
			braid.On(func(_ context.Context, e *hook.AfterRun) error {
				if more && e.Rounds < 2 {
					e.GoOn = blocks()
				}
				return nil
			}),
			braid.On(func(_ context.Context, e *hook.BeforeCompaction) error {
				if summary {
					e.Summary = blocks()
				}
				return nil
			}),
		)
		var broken error
		m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			if err := braid.ValidMessages(req.Messages); err != nil && broken == nil {
				broken = errors.New(err.Error() + ": " + brief(req.Messages))
			}
			if req.Cycle%3 != 0 {
				return chunks(asksFor("look", "{}", "look", "{}"))
			}
			return chunks(says("so"))
		}}
		look := braid.Func("look", "", func(context.Context, nothing) (string, error) { return "seen", nil })
		conv := braid.NewConversation()
		for range 2 {
			agent := braid.New("root", m, look, hooks, braid.Manage(braid.Management{By: braid.SlidingWindow(5)}), braid.Limit(braid.Limits{Cycles: 12}))
			if _, err := agent.Run(context.Background(), "go", braid.In(conv)); err != nil && !errors.Is(err, event.ErrInvalid) && !errors.Is(err, event.ErrLimit) {
				t.Fatalf("the run fails with %v", err)
			}
			if broken != nil {
				t.Fatal(broken)
			}
			input, request, answer, result, more, summary = false, false, false, false, false, false
		}
	})
}
