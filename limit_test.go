package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// The table of docs/guide/limits-and-errors.md: what stands beside the result.
func TestHowARunEnds(t *testing.T) {
	t.Parallel()
	calls := asksFor("add", `{"a":1,"b":2}`)
	stop := func(reason event.StopReason) []model.Chunk {
		return []model.Chunk{{Kind: model.ChunkText, Text: "part"}, {Kind: model.ChunkStop, Stop: reason}}
	}
	for _, c := range []struct {
		name    string
		answers [][]model.Chunk
		limits  braid.Limits
		stop    event.StopReason
		why     event.Why
		err     error
		text    string
		tools   int
	}{
		{"end of turn", [][]model.Chunk{says("hi")}, braid.Limits{}, event.StopEndTurn, event.WhyEndTurn, nil, "hi", 0},
		{"stop word", [][]model.Chunk{stop(event.StopSequence)}, braid.Limits{}, event.StopSequence, event.WhyEndTurn, nil, "part", 0},
		{"max tokens", [][]model.Chunk{stop(event.StopMaxTokens)}, braid.Limits{}, event.StopMaxTokens, event.WhyMaxTokens, event.ErrMaxTokens, "part", 0},
		{"refusal", [][]model.Chunk{stop(event.StopRefusal)}, braid.Limits{}, event.StopRefusal, event.WhyModelStop, nil, "part", 0},
		{"a provider's own word", [][]model.Chunk{stop("model_says_so")}, braid.Limits{}, "model_says_so", event.WhyModelStop, nil, "part", 0},
		{"pause", [][]model.Chunk{stop(event.StopPause), says("done")}, braid.Limits{}, event.StopEndTurn, event.WhyEndTurn, nil, "done", 0},
		{"cycles", [][]model.Chunk{calls}, braid.Limits{Cycles: 3}, event.StopLimitCycles, event.WhyLimit, event.ErrLimit, "", 3},
		{"tool calls", [][]model.Chunk{calls}, braid.Limits{ToolCalls: 2}, event.StopLimitToolCalls, event.WhyLimit, event.ErrLimit, "", 2},
		{"tokens", [][]model.Chunk{calls}, braid.Limits{TotalTokens: 30}, event.StopLimitTotalTokens, event.WhyLimit, event.ErrLimit, "", 2},
		{"no answer at all", [][]model.Chunk{stop(event.StopEndTurn)[1:]}, braid.Limits{}, event.StopEndTurn, event.WhyEndTurn, nil, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conv := braid.NewConversation()
			agent := braid.New("a", answers(c.answers...), braid.Func("add", "Adds.", add), braid.Limit(c.limits))
			result, err := agent.Run(t.Context(), "go", braid.In(conv))
			if !errors.Is(err, c.err) {
				t.Errorf("the error is %v, want %v", err, c.err)
			}
			if result.Stop != c.stop || result.Why != c.why || result.Text() != c.text || result.Metrics.ToolCalls != c.tools {
				t.Errorf("got %s, %s, %q, %d tool calls", result.Stop, result.Why, result.Text(), result.Metrics.ToolCalls)
			}
			if result.Metrics.ToolErrors > 0 {
				t.Error("a tool that was asked for did not finish")
			}
			// The conversation stays usable whatever happened.
			if _, err := braid.New("b", answers(says("hello"))).Run(t.Context(), "again", braid.In(conv)); err != nil {
				t.Errorf("the next run: %v", err)
			}
		})
	}
}

func TestACallCutOffByTheTokenLimitBecomesText(t *testing.T) {
	t.Parallel()
	cut := asksFor("add", `{"a":1,"b`)
	cut[len(cut)-1].Stop = event.StopMaxTokens
	conv := braid.NewConversation()
	_, err := braid.New("a", answers(cut), braid.Func("add", "Adds.", add)).Run(t.Context(), "go", braid.In(conv))
	if !errors.Is(err, event.ErrMaxTokens) {
		t.Errorf("got %v", err)
	}
	messages, _ := conv.Messages(t.Context())
	if len(messages) != 2 || !strings.Contains(messages[1].Text(), `call of "add" was cut off`) {
		t.Errorf("the history is %s", raw(messages))
	}
}

// Calls that had arrived completely when the answer was cut keep their arguments. They do not run, and their results say so.
func TestTheTokenLimitKeepsCompleteCalls(t *testing.T) {
	t.Parallel()
	const notRun = "The tool call was not run, because the answer was cut at its token limit."
	for _, c := range []struct {
		name, first, second, want string
	}{
		{"the second is cut", `{"a":1,"b":2}`, `{"a":3,"b`, `assistant:[c0][The call of "add" was cut off and not run: the answer ended with max_tokens.] user:(c0 ` + notRun + ")"},
		{"both are complete", `{"a":1,"b":2}`, `{"a":3,"b":4}`, "assistant:[c0][c1] user:(c0 " + notRun + ")(c1 " + notRun + ")"},
		{"the second has only begun", `{"a":1,"b":2}`, "", `assistant:[c0][The call of "add" was cut off and not run: the answer ended with max_tokens.] user:(c0 ` + notRun + ")"},
		{"the first has no arguments", "", `{`, `assistant:[c0][The call of "add" was cut off and not run: the answer ended with max_tokens.] user:(c0 ` + notRun + ")"},
		{"the first is broken", `{"a":`, `{"a":3,"b":4}`, `assistant:[The call of "add" was cut off and not run: the answer ended with max_tokens.][c1] user:(c1 ` + notRun + ")"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cut := asksFor("add", c.first, "add", c.second)
			cut[len(cut)-1].Stop = event.StopMaxTokens
			m := &heard{says: [][]model.Chunk{cut, says("so")}}
			agent, conv := braid.New("a", m, braid.Func("add", "Adds.", add)), braid.NewConversation()
			r, err := agent.Run(t.Context(), "go", braid.In(conv))
			if !errors.Is(err, event.ErrMaxTokens) || r.Stop != event.StopMaxTokens || r.Metrics.ToolCalls > 0 || len(m.asked) != 1 {
				t.Errorf("the run ends with %s after %d calls of the tool and %d of the model: %v", r.Stop, r.Metrics.ToolCalls, len(m.asked), err)
			}
			if _, err := agent.Run(t.Context(), "on", braid.In(conv)); err != nil {
				t.Fatal(err)
			}
			if got := brief(m.asked[1].Messages); got != "user:go "+c.want+"on" {
				t.Errorf("the next run's model is shown\n%s\nwant\n%s", got, "user:go "+c.want+"on")
			}
			if args := m.asked[1].Messages[1].Calls()[0].Args; c.first == `{"a":1,"b":2}` && string(args) != c.first {
				t.Errorf("the arguments are %s", args)
			}
		})
	}
}

func TestModelFailures(t *testing.T) {
	t.Parallel()
	cut := says("only a part")
	cut = cut[:len(cut)-1]
	for _, c := range []struct {
		name  string
		model func(context.Context, *model.Request) iter.Seq2[model.Chunk, error]
		kind  event.ErrorKind
		calls int64
	}{
		{"no terminal signal", func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] { return chunks(cut) }, event.ErrStreamCut, 6},
		{"plain error", func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
			return failing(errors.New("bad gateway"))
		}, event.ErrModel, 1},
		{"authentication", func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
			return failing(&event.Error{Kind: event.ErrModelAuth, Message: "no"})
		}, event.ErrModelAuth, 1},
		{"panic", func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
			return func(func(model.Chunk, error) bool) { panic("boom") }
		}, event.ErrInternal, 1},
		{"context overflow", func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
			return failing(&event.Error{Kind: event.ErrContextOverflow, Message: "too long"})
		}, event.ErrContextOverflow, 1},
		{"overloaded, then good", func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			if req.Attempt < 3 {
				return failing(&event.Error{Kind: event.ErrOverloaded, Message: "busy", RetryAfter: time.Minute})
			}
			return chunks(says("ok"))
		}, "", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &script{next: c.model}
				conv := braid.NewConversation()
				begun := time.Now()
				result, err := braid.New("a", m).Run(t.Context(), "go", braid.In(conv))
				if event.KindOf(err) != c.kind || m.calls.Load() != c.calls {
					t.Errorf("got %v after %d calls, want %q after %d", err, m.calls.Load(), c.kind, c.calls)
				}
				if c.kind == event.ErrStreamCut && event.TextOf(result.Partial) != "only a part" {
					t.Errorf("the partial answer is %s", raw(result.Partial))
				}
				if c.kind == "" && time.Since(begun) < 2*time.Minute {
					t.Errorf("Retry-After was not honoured: %v", time.Since(begun))
				}
			})
		})
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &script{next: func(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
			return func(yield func(model.Chunk, error) bool) {
				if yield(model.Chunk{Kind: model.ChunkText, Text: "so far"}, nil) {
					<-ctx.Done()
					yield(model.Chunk{}, ctx.Err())
				}
			}
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		result, err := braid.New("a", m).Run(ctx, "go")
		if !errors.Is(err, event.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || result.Stop != event.StopTimeout || event.TextOf(result.Partial) != "so far" {
			t.Errorf("got %v, %s, %s", err, result.Stop, raw(result.Partial))
		}
	})
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	user := func(b ...event.Block) event.Message { return event.Message{Role: event.RoleUser, Content: b} }
	hi := &event.Text{Text: "hi"}
	for name, input := range map[string]any{
		"empty": "", "blank": " \n", "invalid UTF-8": "a\xff", "no blocks": []event.Block{},
		"no messages": []event.Message{}, "nil block": []event.Block{nil},
		"ends with nothing":        []event.Message{user(hi), {Role: event.RoleAssistant, Content: []event.Block{hi}}, user()},
		"result without call":      user(&event.ToolResult{Call: "x"}),
		"unknown role":             event.Message{Role: "system", Content: []event.Block{hi}},
		"invalid UTF-8 in a block": &event.Text{Text: "\xff"},
	} {
		model := answers(says("never"))
		said, more := given(input)
		result, err := braid.New("a", model).Run(t.Context(), said, more)
		if !errors.Is(err, event.ErrInvalid) || model.calls.Load() != 0 || result == nil {
			t.Errorf("%s: got %v after %d calls", name, err, model.calls.Load())
		}
		var e *event.Error
		if errors.As(err, &e) && (e.Message == "" || e.Hint == "") {
			t.Errorf("%s: the error does not say what to do: %+v", name, e)
		}
	}
	answer := braid.Answers(braid.Answer{Token: "t"})
	for name, c := range map[string]struct {
		text string
		opts []braid.RunOption
	}{
		"no answers":              {"", []braid.RunOption{braid.Answers()}},
		"an answer nowhere":       {"", []braid.RunOption{answer}},
		"an answer beside a text": {"hi", []braid.RunOption{answer, braid.In(braid.NewConversation())}},
		"an answer beside a file": {"", []braid.RunOption{answer, braid.Attach(hi), braid.In(braid.NewConversation())}},
	} {
		model := answers(says("never"))
		if _, err := braid.New("a", model).Run(t.Context(), c.text, c.opts...); !errors.Is(err, event.ErrInvalid) || model.calls.Load() != 0 {
			t.Errorf("%s: got %v after %d calls", name, err, model.calls.Load())
		}
	}
	agent := braid.New("a", answers(says("never")), braid.Func("add", "", add))
	conv := braid.NewConversation()
	if _, err := agent.Resume(t.Context(), conv, braid.Attach(hi)); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a file for a run that goes on: %v", err)
	}
	if _, err := agent.Call(t.Context(), "add", addIn{}, braid.Attach(hi)); !errors.Is(err, event.ErrUnsupported) {
		t.Errorf("a file for a call: %v", err)
	}
}

func TestAHistoryAsInput(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	text := func(s string) []event.Block { return []event.Block{&event.Text{Text: s}} }
	input := []event.Message{
		{Role: event.RoleUser, Content: text("add 1 and 2")},
		{Role: event.RoleAssistant, Content: []event.Block{&event.ToolCall{ID: "x", Name: "add", Args: raw(map[string]int{"a": 1})}}},
		{Role: event.RoleUser, Content: []event.Block{&event.ToolResult{Call: "x", Name: "add", Content: text("3")}}},
		{Role: event.RoleAssistant, Content: text("3")},
		{Role: event.RoleUser, Content: text("and 4?")},
	}
	model := answers(says("7"))
	if _, err := braid.New("a", model).Run(t.Context(), "", braid.History(input...), braid.In(conv)); err != nil || model.calls.Load() != 1 {
		t.Fatal(err, model.calls.Load())
	}
	messages, _ := conv.Messages(t.Context())
	if len(messages) != 6 || string(raw(messages[:5])) != string(raw(input)) {
		t.Errorf("the history is %s", raw(messages))
	}
}

func TestWrongParts(t *testing.T) {
	t.Parallel()
	model := answers(says("never"))
	tool := braid.Func("add", "Adds.", add)
	for name, agent := range map[string]*braid.Agent{
		"no name":         braid.New("", model),
		"the user's name": braid.New("user", model),
		"no model":        braid.New("a", nil),
		"two of one name": braid.New("a", model, tool, braid.Func("add", "Adds again.", add)),
		"a tool's name":   braid.New("a", model, braid.Func("add two", "Adds.", add)),
		"no function":     braid.New("a", model, braid.Func[addIn, int]("add", "Adds.", nil)),
		"no object":       braid.New("a", model, braid.Func("add", "Adds.", func(context.Context, int) (int, error) { return 0, nil })),
		"no schema of a type": braid.New("a", model, braid.Func("add", "Adds.",
			func(context.Context, struct{ C chan int }) (int, error) { return 0, nil })),
		"no JSON schema": braid.New("a", model, braid.Tools(rawTool{`{"type":"objekt"`})),
		"not an object":  braid.New("a", model, braid.Tools(rawTool{`{"type":"string"}`})),
		"a wrong schema": braid.New("a", model, braid.Tools(rawTool{`{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`})),
		"a wrong child":  braid.New("a", model, braid.AsTool(braid.New("b", nil), "b")),
		"no child":       braid.New("a", model, braid.AsTool(nil, "b")),
		"two of one agent name": braid.New("a", model,
			braid.AsTool(braid.New("b", model, braid.AsTool(braid.New("a", model), "other a")), "b")),
	} {
		// Two agents of one name are found when the run gathers its team.
		if agent.Err() == nil && name != "two of one agent name" {
			t.Errorf("%s: the agent does not know", name)
		}
		_, err := agent.Run(t.Context(), "hi")
		if !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
		var e *event.Error
		if errors.As(err, &e) && (e.Message == "" || e.Hint == "") {
			t.Errorf("%s: the error does not say what to do: %+v", name, e)
		}
	}
	if model.calls.Load() != 0 {
		t.Error("a model was called")
	}
}

type rawTool struct{ schema string }

func (r rawTool) Spec() model.ToolSpec { return model.ToolSpec{Name: "raw", Schema: []byte(r.schema)} }

func (rawTool) Call(context.Context, json.RawMessage) (tool.Output, error) {
	return tool.Output{}, nil
}

func TestOneRunAtATime(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	agent := braid.New("a", answers(says("hi")))
	for e, err := range agent.Stream(t.Context(), "one", braid.In(conv)) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Body.(*event.RunStarted); ok {
			if _, err := agent.Run(t.Context(), "two", braid.In(conv)); !errors.Is(err, event.ErrLocked) {
				t.Errorf("got %v", err)
			}
		}
	}
	if _, err := agent.Resume(t.Context(), conv); !errors.Is(err, event.ErrConflict) {
		t.Errorf("resuming what is over gave %v", err)
	}
}

func TestANewSessionForgetsAndTheLogDoesNot(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	seen := 0
	m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		seen = len(req.Messages)
		return chunks(says("ok"))
	}}
	agent := braid.New("a", m)
	for i, want := range []int{1, 3, 1, 3} {
		opts := []braid.RunOption{braid.In(conv)}
		if i == 2 {
			opts = append(opts, braid.NewSession())
		}
		if _, err := agent.Run(t.Context(), "hi", opts...); err != nil || seen != want {
			t.Errorf("run %d saw %d messages, want %d: %v", i, seen, want, err)
		}
	}
	n := 0
	for _, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 20 {
		t.Errorf("the log has %d events, want 5 for each run", n)
	}
}

func TestAFailedRunLeavesOnlyANoteOfItsEffects(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		if req.Cycle == 1 {
			return chunks(asksFor("pay", `{}`, "look", `{}`))
		}
		return failing(&event.Error{Kind: event.ErrModelAuth, Message: "the key has expired"})
	}}
	pay := braid.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) { return "paid", nil })
	look := braid.Func("look", "Looks.", func(context.Context, struct{}) (string, error) { return "seen", nil }, tool.Pure())
	if _, err := braid.New("a", m, pay, look, braid.ForgetFailed()).Run(t.Context(), "pay the bill", braid.In(conv)); !errors.Is(err, event.ErrModelAuth) {
		t.Fatal(err)
	}
	if _, err := braid.New("b", answers(says("ok"))).Run(t.Context(), "what now?", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	messages, _ := conv.Messages(t.Context())
	text := messages[0].Text()
	if len(messages) != 2 || strings.Contains(text, "pay the bill") || !strings.Contains(text, "- pay (call c0): finished") ||
		strings.Contains(text, "look") || !strings.HasSuffix(text, "what now?") {
		t.Errorf("the next run sees %s", raw(messages))
	}
}

// An answer without end is cut where it is larger than it may be: it neither fills the memory nor waits for
// the run's time to be over.
func TestAnAnswerWithoutEndIsCut(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("x", 1<<10)
	for name, next := range map[string]func(i int) model.Chunk{
		"text":      func(int) model.Chunk { return model.Chunk{Kind: model.ChunkText, Text: piece} },
		"thinking":  func(int) model.Chunk { return model.Chunk{Kind: model.ChunkThinking, Text: piece} },
		"signature": func(int) model.Chunk { return model.Chunk{Kind: model.ChunkSignature, Text: piece} },
		"arguments": func(int) model.Chunk { return model.Chunk{Kind: model.ChunkCallInput, Text: piece} },
		"calls":     func(i int) model.Chunk { return model.Chunk{Kind: model.ChunkCall, Index: i, ID: "c", Text: "f"} },
		"blocks": func(i int) model.Chunk {
			return model.Chunk{Kind: model.ChunkBlock, Index: i, Block: &event.Image{MIME: "image/png", Data: []byte(piece)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := 0
			m := &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
				return func(yield func(model.Chunk, error) bool) {
					for given < 10_000 && yield(next(given), nil) {
						given++
					}
				}
			}}
			r, err := braid.New("a", m, braid.Limit(braid.Limits{AnswerBytes: 1 << 20})).Run(t.Context(), "go")
			if !errors.Is(err, event.ErrModel) || !strings.Contains(err.Error(), "larger than 1048576 bytes") || r.Status != event.RunFailed {
				t.Errorf("the run is %s: %v", r.Status, err)
			}
			if given > 1100 || m.calls.Load() != 1 || len(r.Partial) > 0 {
				t.Errorf("after %d pieces and %d calls, %d blocks are kept", given, m.calls.Load(), len(r.Partial))
			}
		})
	}
}
