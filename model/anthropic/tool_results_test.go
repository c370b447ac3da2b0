package anthropic_test

import (
	"context"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/tool"
)

// What tools give back that is more than text reaches the provider in a form that it takes, also
// what the program called itself and what was returned without a model.
func TestResultsOfEveryKindInARun(t *testing.T) {
	t.Parallel()
	calling := func(names ...string) anthropictest.Answer {
		var chunks []model.Chunk
		for i, name := range names {
			chunks = append(chunks, model.Chunk{Kind: model.ChunkCall, Index: i, ID: "call_" + name, Text: name},
				model.Chunk{Kind: model.ChunkCallInput, Index: i, Text: "{}"})
		}
		return anthropictest.Stream(chunks, "tool_use", event.Usage{Input: 1, Output: 1})
	}
	m, server := open(t, sonnet, nil, calling("draw", "scan", "measure", "smudge"), anthropictest.Text("I see."), calling("answer"),
		anthropictest.Text("Bye."))
	type none struct{}
	tl := func(name string, out any) braid.Part {
		return braid.Func(name, "Gives "+name+".", func(ctx context.Context, _ none) (any, error) {
			if name == "answer" {
				tool.ReturnDirect(ctx)
			}
			return out, nil
		})
	}
	picture := &event.Image{MIME: "image/png", Data: modeltest.Pixel()}
	agent := braid.New("a", m,
		tl("draw", picture),
		tl("scan", []event.Block{&event.Text{Text: "The contract:"}, &event.Document{Name: "contract.txt", MIME: "text/plain", Text: "We agree."}}),
		tl("measure", map[string]int{"width": 3}),
		tl("smudge", tool.Output{Content: []event.Block{&event.Text{Text: "The pen is dry."}, picture}, IsError: true}),
		tl("answer", "Forty-two."))
	conv := braid.NewConversation()
	if got, err := agent.Call(t.Context(), "draw", nil, braid.In(conv)); err != nil || got.Content[0] != event.Block(picture) {
		t.Fatalf("%v, %+v", err, got)
	}
	for i, want := range []string{"I see.", "Forty-two.", "Bye."} {
		r, err := agent.Run(t.Context(), "Go on.", braid.In(conv))
		if err != nil || r.Text() != want {
			t.Fatalf("run %d: %v, %q", i, err, r.Text())
		}
	}
	asked := server.Asked()
	if len(asked) != 4 {
		t.Fatalf("%d requests", len(asked))
	}
	last := string(asked[3].Body)
	for _, part := range []string{
		`"type":"image"`, `"We agree."`, `{\"width\":3}`, `"is_error":true`, "The pen is dry.", "Forty-two.", `"draw\" was called by the program itself`,
	} {
		if !strings.Contains(last, part) {
			t.Errorf("the last request has no %s:\n%s", part, last)
		}
	}
	if n := strings.Count(last, `"type":"image"`); n != 3 {
		t.Errorf("%d pictures, want 3:\n%s", n, last)
	}
}
