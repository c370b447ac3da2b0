package braid_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
)

// What Run takes of a history that other frameworks wrote, and what it refuses and where.
func TestWhatAnInputMayHold(t *testing.T) {
	t.Parallel()
	user := func(b ...event.Block) event.Message { return event.Message{Role: event.RoleUser, Content: b} }
	llm := func(b ...event.Block) event.Message { return event.Message{Role: event.RoleAssistant, Content: b} }
	text := func(s string) event.Block { return &event.Text{Text: s} }
	call := &event.ToolCall{ID: "c", Name: "add", Args: raw(struct{}{})}
	for _, c := range []struct {
		name  string
		input any
		// seen is what the model is shown, refused what the error names.
		seen, refused string
	}{
		{"words", "hi", "user:hi", ""},
		{"a blank block beside words", []event.Block{text(" \n"), text("hi")}, "user:hi", ""},
		{"a blank block alone", []event.Block{text(" ")}, "", "empty"},
		{"an empty answer", []event.Message{user(text("a")), llm(), user(text("b"))}, "user:ab", ""},
		{"a blank answer", []event.Message{user(text("a")), llm(text("")), user(text("b"))}, "user:ab", ""},
		{"an empty message of the user", []event.Message{user(text("a")), llm(text("x")), user(text(""))}, "", "message 2 is empty"},
		{"a call of the user", []event.Block{call}, "", "message 0 has nothing but a tool call"},
		{"a call of the user in a history", []event.Message{user(text("a"), call), llm(text("x")), user(text("b"))}, "user:a assistant:x user:b", ""},
		{"an answer at the end", []event.Message{user(text("a")), llm(text("x"))}, "user:a assistant:x user:[Go on from the end of the message above.]", ""},
		{
			"an answer alone", llm(text("x")),
			"user:[The conversation goes on from here.] assistant:x user:[Go on from the end of the message above.]", "",
		},
		{"a blank answer alone", llm(text(" ")), "", "empty"},
		{"a result without a call", []event.Block{&event.ToolResult{Call: "c", Name: "add"}}, "", "message 0 has a result"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &heard{says: [][]model.Chunk{says("so")}}
			said, more := given(c.input)
			_, err := braid.New("root", m).Run(t.Context(), said, more)
			switch {
			case c.refused != "":
				if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), c.refused) || len(m.asked) > 0 {
					t.Errorf("it is refused with %v, want %q", err, c.refused)
				}
			case err != nil || brief(m.asked[0].Messages) != c.seen:
				t.Errorf("the model is shown %v, want %s: %v", m.asked, c.seen, err)
			}
		})
	}
}

// A hook cannot put tool calls and results where no provider takes them.
func TestHooksCannotBreakAHistory(t *testing.T) {
	t.Parallel()
	result := &event.ToolResult{Call: "c", Name: "add", Content: []event.Block{&event.Text{Text: "3"}}}
	call := &event.ToolCall{ID: "c", Name: "add", Args: raw(struct{}{})}
	goOn := func(b event.Block) braid.Part {
		return braid.On(func(_ context.Context, e *hook.AfterRun) error { e.GoOn = []event.Block{b}; return nil })
	}
	for name, part := range map[string]braid.Part{
		"a result in an answer": braid.On(func(_ context.Context, e *hook.AfterModel) error {
			e.Message.Content = append(e.Message.Content, result)
			return nil
		}),
		"a call to go on with": goOn(call), "a result to go on with": goOn(result),
	} {
		r, err := braid.New("root", answers(says("so")), part).Run(t.Context(), "go")
		if !errors.Is(err, event.ErrInvalid) || r.Status != event.RunFailed {
			t.Errorf("%s: the run is %s: %v", name, r.Status, err)
		}
	}
}

// Where an agent that is used as a tool was cut, its words and the error stand apart for whoever joins them.
func TestTheCutAnswerOfAnAgentStandsApart(t *testing.T) {
	t.Parallel()
	cut := append(says("so far")[:1:1], model.Chunk{Kind: model.ChunkStop, Stop: event.StopMaxTokens})
	m := &heard{says: [][]model.Chunk{asksFor("child", `{"input":"go"}`), says("so")}}
	if _, err := braid.New("root", m, braid.AsTool(braid.New("child", answers(cut)), "")).Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	want := "so far\n\nError: agent \"child\": the model's answer was cut at its token limit."
	if got := event.TextOf(lastResults(&m.asked[1])[0].Content); got != want {
		t.Errorf("the result is %q, want %q", got, want)
	}
}

// Where the cut answer had a complete call, which did not run, its words are the result all the same.
func TestTheCutAnswerOfAnAgentWithACall(t *testing.T) {
	t.Parallel()
	cut := append(says("so far")[:1:1], asksFor("add", `{"a":1,"b":2}`)...)
	cut[1].Index, cut[2].Index, cut[len(cut)-1].Stop = 1, 1, event.StopMaxTokens
	m := &heard{says: [][]model.Chunk{asksFor("child", `{"input":"go"}`), says("so")}}
	child := braid.New("child", answers(cut), braid.Func("add", "Adds.", add))
	r, err := braid.New("root", m, braid.AsTool(child, "")).Run(t.Context(), "go")
	if err != nil || r.Metrics.ToolCalls != 1 {
		t.Fatalf("%d calls ran: %v", r.Metrics.ToolCalls, err)
	}
	want := "so far\n\nError: agent \"child\": the model's answer was cut at its token limit."
	if got := event.TextOf(lastResults(&m.asked[1])[0].Content); got != want {
		t.Errorf("the result is %q, want %q", got, want)
	}
}
