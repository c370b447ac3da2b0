package braid_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// A guardrail that takes the answer back: watchers are told, and nothing of it is kept,
// calls neither.
func TestAnAnswerThatIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, after, want string }{
		{"[blocked]", "", "[blocked]"},
		{"", "", "[redacted]"},
		{"[blocked]", " Ask for something else.", "[blocked] Ask for something else."},
	} {
		list := append([]braid.Chunk{{Kind: braid.ChunkThinking, Index: 0, Text: "a secret thought"}, {Kind: braid.ChunkText, Index: 1, Text: "the secret"}},
			asksFor("add", `{"a":1,"b":2}`)[:2]...)
		list = append(list, braid.Chunk{Kind: braid.ChunkRedactOutput, Index: 1, Text: c.text})
		if c.after != "" {
			list = append(list, braid.Chunk{Kind: braid.ChunkText, Index: 1, Text: c.after})
		}
		list = append(list, braid.Chunk{Kind: braid.ChunkStop, Stop: event.StopGuardrail})
		called := false
		agent := braid.New("root", answers(list), braid.Func("add", "", func(context.Context, addIn) (int, error) { called = true; return 0, nil }))
		shown := ""
		var r braid.Result
		for e, err := range agent.Stream(t.Context(), "go", braid.Into(&r)) {
			if err != nil {
				t.Fatal(err)
			}
			switch b := e.Body.(type) {
			case *event.TextDelta:
				shown += b.Text
			case *event.AnswerReplaced:
				if shown != "the secret" || !e.Live() || e.Step != "m1" {
					t.Errorf("%q was shown when it was taken back, by %+v", shown, e.Header)
				}
				shown = b.Text
			case *event.AssistantMessage:
				if len(b.Content) != 1 || b.Stop != event.StopGuardrail {
					t.Errorf("the message is %s", raw(b))
				}
			}
		}
		if r.Text() != c.want || shown != c.want || called || r.Stop != event.StopGuardrail {
			t.Errorf("%q: the answer is %q, %q is shown, the tool was called: %v", c.text, r.Text(), shown, called)
		}
	}
}

// A guardrail that takes the question back: nobody is shown it again, in this run, in
// the next one, or from the log.
func TestAQuestionThatIsTakenBack(t *testing.T) {
	t.Parallel()
	takes := braid.Chunk{Kind: braid.ChunkRedactInput, Text: "(hidden)"}
	var seen []string
	remember := func(list ...[]braid.Chunk) *script {
		return &script{next: func(_ context.Context, req *braid.ModelRequest) iter.Seq2[braid.Chunk, error] {
			seen = append(seen, brief(req.Messages))
			if len(seen) == 2 {
				return breaks([]braid.Chunk{takes}, fault(event.ErrOverloaded))
			}
			return chunks(list[min(len(seen), len(list))-1])
		}}
	}
	model := remember(append([]braid.Chunk{takes}, asksFor("add", `{"a":1,"b":2}`)...), nil, says("so"), says("again"))
	conv := braid.NewConversation()
	agent := braid.New("root", model, braid.Func("add", "", add), braid.Retries(braid.Retry{Base: 1, Max: 1, Exact: true}))
	held := []event.Block{&event.Text{Text: "my "}, &event.Text{Text: "secret"}}
	for _, input := range []any{held, "next"} {
		if _, err := agent.Run(t.Context(), input, braid.In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"user:my secret",
		"user:(hidden) assistant:[c0] user:(c0 3)",
		"user:(hidden) assistant:[c0] user:(c0 3)",
		"user:(hidden) assistant:[c0] user:(c0 3) assistant:so user:next",
	}
	if got := strings.Join(seen, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the model saw\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if held[0].(*event.Text).Text != "my " {
		t.Error("the caller's own blocks have changed")
	}
	messages, err := conv.Messages(t.Context())
	if err != nil || strings.Contains(brief(messages), "secret") {
		t.Errorf("%s, %v", brief(messages), err)
	}
	var last event.Event
	targets := 0
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.Redacted); ok {
			targets++
			if b.Target != 2 || event.TextOf(b.Replacement) != "(hidden)" || b.Reason == "" || last.Seq+1 != e.Seq || e.Step == "" {
				t.Errorf("%+v after event %d", b, last.Seq)
			}
		}
		last = *e
	}
	if targets != 2 {
		t.Errorf("it was taken back %d times", targets)
	}
}

// An agent that is used as a tool was asked by another agent: its guardrail hides that
// from it, and nothing of what the person said.
func TestAQuestionOfAnAgentThatIsTakenBack(t *testing.T) {
	t.Parallel()
	var seen string
	calls := 0
	child := &script{next: func(_ context.Context, req *braid.ModelRequest) iter.Seq2[braid.Chunk, error] {
		if calls++; calls == 1 {
			return breaks([]braid.Chunk{{Kind: braid.ChunkRedactInput}}, fault(event.ErrOverloaded))
		}
		seen = brief(req.Messages)
		return chunks(says("fine"))
	}}
	root := answers(asksFor("child", `{"input":"the secret"}`), says("done"))
	conv := braid.NewConversation()
	sub := braid.New("child", child, braid.Retries(braid.Retry{Base: 1, Max: 1, Exact: true}))
	if _, err := braid.New("root", root, braid.AsTool(sub, "")).Run(t.Context(), "hello", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	if seen != "user:[redacted]" {
		t.Errorf("the agent saw %s", seen)
	}
	messages, err := conv.Messages(t.Context())
	if err != nil || !strings.HasPrefix(brief(messages), "user:hello") {
		t.Errorf("%s, %v", brief(messages), err)
	}
}
