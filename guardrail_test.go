package braid_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/model"
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
		list := append([]model.Chunk{{Kind: model.ChunkThinking, Index: 0, Text: "a secret thought"}, {Kind: model.ChunkText, Index: 1, Text: "the secret"}},
			asksFor("add", `{"a":1,"b":2}`)[:2]...)
		list = append(list, model.Chunk{Kind: model.ChunkRedactOutput, Index: 1, Text: c.text})
		if c.after != "" {
			list = append(list, model.Chunk{Kind: model.ChunkText, Index: 1, Text: c.after})
		}
		list = append(list, model.Chunk{Kind: model.ChunkStop, Stop: event.StopGuardrail})
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

// A guardrail that takes back what the model was asked: the question at the first call, the tool's result
// at the second. Nobody is shown it again, in this run, in the next one, or from the log.
func TestAQuestionThatIsTakenBack(t *testing.T) {
	t.Parallel()
	takes := model.Chunk{Kind: model.ChunkRedactInput, Text: "(hidden)"}
	var seen []string
	remember := func(list ...[]model.Chunk) *script {
		return &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			seen = append(seen, brief(req.Messages))
			if len(seen) == 2 {
				return breaks([]model.Chunk{takes}, fault(event.ErrOverloaded))
			}
			return chunks(list[min(len(seen), len(list))-1])
		}}
	}
	m := remember(append([]model.Chunk{takes}, asksFor("add", `{"a":1,"b":2}`)...), nil, says("so"), says("again"))
	conv := braid.NewConversation()
	agent := braid.New("root", m, braid.Func("add", "", add), braid.Retries(braid.Retry{Base: 1, Max: 1, Exact: true}))
	held := []event.Block{&event.Text{Text: "my "}, &event.Text{Text: "secret"}}
	for _, input := range []any{held, "next"} {
		said, more := given(input)
		if _, err := agent.Run(t.Context(), said, more, braid.In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"user:my secret",
		"user:(hidden) assistant:[c0] user:(c0 3)",
		"user:(hidden) assistant:[c0] user:(c0 (hidden))",
		"user:(hidden) assistant:[c0] user:(c0 (hidden)) assistant:so user:next",
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
			if b.Target != []int64{2, 7}[targets-1] || event.TextOf(b.Replacement) != "(hidden)" || b.Reason == "" || last.Seq+1 != e.Seq || e.Step == "" {
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
	child := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		if calls++; calls == 1 {
			return breaks([]model.Chunk{{Kind: model.ChunkRedactInput}}, fault(event.ErrOverloaded))
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

// A guardrail that blocks what a tool gave: the result goes, for this run, for later ones and from the
// store, and the user's question stays.
func TestAResultThatIsTakenBack(t *testing.T) {
	t.Parallel()
	takes := []model.Chunk{
		{Kind: model.ChunkRedactInput, Text: "(hidden)"},
		{Kind: model.ChunkText, Text: "I cannot."},
		{Kind: model.ChunkStop, Stop: event.StopGuardrail},
	}
	look := braid.Func("look", "", func(context.Context, nothing) (string, error) { return "card " + canary, nil })
	for _, c := range []struct {
		name  string
		agent func(m braid.Model) *braid.Agent
		says  [][]model.Chunk
		// seen is what the model is shown in the run after it.
		seen string
	}{
		{
			"one result", func(m braid.Model) *braid.Agent { return braid.New("root", m, look) },
			[][]model.Chunk{asksFor("look", "{}"), takes, says("fine")},
			"user:What is it? assistant:[c0] user:(c0 (hidden)) assistant:I cannot. user:And now?",
		},
		{
			"two results", func(m braid.Model) *braid.Agent { return braid.New("root", m, look) },
			[][]model.Chunk{asksFor("look", "{}", "look", "{}"), takes, says("fine")},
			"user:What is it? assistant:[c0][c1] user:(c0 (hidden))(c1 (hidden)) assistant:I cannot. user:And now?",
		},
		{
			"the second round", func(m braid.Model) *braid.Agent {
				return braid.New("root", m, look, braid.Func("ok", "", func(context.Context, nothing) (string, error) { return "fine", nil }))
			},
			[][]model.Chunk{asksFor("ok", "{}"), asksFor("look", "{}"), takes, says("fine")},
			"user:What is it? assistant:[c0] user:(c0 fine) assistant:[c0] user:(c0 (hidden)) assistant:I cannot. user:And now?",
		},
		{
			"an agent used as a tool", func(m braid.Model) *braid.Agent {
				child := braid.New("child", answers(asksFor("look", "{}"), takes), look)
				return braid.New("root", m, braid.AsTool(child, ""))
			},
			[][]model.Chunk{asksFor("child", `{"input":"look"}`), says("so"), says("fine")},
			"user:What is it? assistant:[c0] user:(c0 I cannot.) assistant:so user:And now?",
		},
		{
			"off-loaded", func(m braid.Model) *braid.Agent {
				long := braid.Func("look", "", func(context.Context, nothing) (string, error) { return strings.Repeat("card "+canary+" ", 1000), nil })
				return braid.New("root", m, long, braid.Offload(braid.Offloading{Over: 1000, Preview: 300}))
			},
			[][]model.Chunk{asksFor("look", "{}"), takes, says("fine")},
			"user:What is it? assistant:[c0] user:(c0 (hidden)) assistant:I cannot. user:And now?",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			store, err := sqlite.Open(folder, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			llm := &heard{says: c.says}
			conv := braid.Open(store, "talk")
			if _, err := c.agent(llm).Run(t.Context(), "What is it?", braid.In(conv)); err != nil {
				t.Fatal(err)
			}
			// The next run is one of another process.
			if _, err := c.agent(llm).Run(t.Context(), "And now?", braid.In(braid.Open(store, "talk"))); err != nil {
				t.Fatal(err)
			}
			if got := brief(llm.asked[len(llm.asked)-1].Messages); got != c.seen {
				t.Errorf("the model sees\n%s\nwant\n%s", got, c.seen)
			}
			for e, err := range conv.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				birdsIn(t, "the log", e)
			}
			messages, err := conv.Messages(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			birdsIn(t, "the warm view", messages)
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			_ = filepath.WalkDir(folder, func(path string, _ os.DirEntry, _ error) error {
				if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), canary) {
					t.Errorf("the card is in the file %s", filepath.Base(path))
				}
				return nil
			})
		})
	}
}

// A message that came with the results is refused with them: nobody can tell which of them was meant.
func TestResultsAndAMessageThatAreTakenBack(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	m := &heard{says: [][]model.Chunk{
		asksFor("look", "{}"),
		{{Kind: model.ChunkRedactInput, Text: "(hidden)"}, {Kind: model.ChunkText, Text: "No."}, {Kind: model.ChunkStop, Stop: event.StopGuardrail}},
		says("fine"),
	}}
	var agent *braid.Agent
	agent = braid.New("root", m, braid.Func("look", "", func(ctx context.Context, _ nothing) (string, error) {
		_, err := agent.Send(ctx, conv, "also this", braid.During(braid.Steer))
		return "seen", err
	}))
	for _, input := range []string{"What is it?", "And now?"} {
		if _, err := agent.Run(t.Context(), input, braid.In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	want := "user:What is it? assistant:[c0] user:(c0 (hidden))(hidden) assistant:No. user:And now?"
	if got := brief(m.asked[2].Messages); got != want {
		t.Errorf("the model sees\n%s\nwant\n%s", got, want)
	}
}
