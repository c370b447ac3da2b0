package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// canary is what nobody may find anywhere afterwards.
const canary = "4111-1111-1111-1111"

func noCards(_ context.Context, text string) (string, error) {
	return strings.ReplaceAll(text, canary, "[card]"), nil
}

// birdsIn says where the canary is in what is written as JSON.
func birdsIn(t *testing.T, where string, v any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if i := strings.Index(string(raw), canary); i >= 0 {
		t.Errorf("the canary is in %s: %.200s", where, raw[max(0, i-100):])
	}
}

// What a guardrail takes out of what people, models and tools say is found in no event that is
// shown or kept, in nothing that a model sees, and in nothing of what a store has written.
func TestWhatAGuardrailTakesOutIsNowhere(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var store journal.Store = journal.NewMemory(journal.MemoryOptions{})
			folder := t.TempDir()
			if kind == "sqlite" {
				s, err := sqlite.Open(folder, sqlite.Options{})
				if err != nil {
					t.Fatal(err)
				}
				store = s
				defer s.Close()
			}
			said := []model.Chunk{{Kind: model.ChunkThinking, Text: "They have " + canary, Index: 0}, {Kind: model.ChunkText, Text: "You said 4111-", Index: 1}, {Kind: model.ChunkText, Text: "1111-1111-1111.", Index: 1}}
			calls := asksFor("look", `{"card":"`+canary+`","n":[1,"`+canary+`"]}`)
			for i := range calls {
				calls[i].Index = 2
			}
			child := braid.New("child", answers(says("The child says "+canary)))
			m := &heard{says: [][]model.Chunk{
				append(said, calls...), asksFor("child", `{"input":"what of `+canary+`?"}`), asksFor("fail", `{}`), says("It is " + canary + ", as you said."),
			}}
			hidden := ""
			agent := braid.New("clerk", m, braid.Guard("cards", noCards), braid.AsTool(child, ""),
				braid.Func("look", "", func(ctx context.Context, in map[string]any) (map[string]any, error) {
					hidden, _ = in["card"].(string)
					tool.Progress(ctx, "looking for "+canary)
					tool.ProgressData(ctx, map[string]string{"card": canary})
					return map[string]any{"found": canary, "all": []string{canary}}, nil
				}),
				braid.Func("fail", "", func(context.Context, struct{}) (string, error) {
					return "", &event.Error{Kind: event.ErrNotFound, Message: "there is no " + canary, Hint: "not " + canary}
				}))
			conv := braid.Open(store, "talk")
			var r braid.Result
			seen := 0
			input := []event.Message{
				{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Before: " + canary}}},
				{Role: event.RoleAssistant, Content: []event.Block{&event.Text{Text: "I heard " + canary}}},
				{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "My card is " + canary}, &event.Document{Name: "c.txt", Text: canary}}},
			}
			for e, err := range agent.Stream(t.Context(), "", braid.History(input...), braid.In(conv), braid.Into(&r), braid.Key("once")) {
				if err != nil {
					t.Fatal(err)
				}
				seen++
				birdsIn(t, "the stream", e)
			}
			if hidden != "[card]" || r.Text() != "It is [card], as you said." || seen < 20 {
				t.Errorf("the tool was given %q, the answer is %q, after %d events", hidden, r.Text(), seen)
			}
			for i := range m.asked {
				birdsIn(t, "what the model is asked", m.asked[i].Messages)
			}
			// The same request is still known to be the same.
			again := braid.Result{}
			for e, err := range agent.Stream(t.Context(), "", braid.History(input...), braid.In(conv), braid.Into(&again), braid.Key("once")) {
				if err != nil {
					t.Fatal(err)
				}
				birdsIn(t, "the replay", e)
			}
			if again.Run != r.Run {
				t.Errorf("the repeat is another run: %s", again.Run)
			}
			birdsIn(t, "the result", r.Message)
			messages, err := conv.Messages(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			birdsIn(t, "the view", messages)
			places := map[string]int{}
			kinds := map[int64]event.Kind{}
			events, err := store.Read(t.Context(), "talk", 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				birdsIn(t, "the log", e)
				kinds[e.Seq] = e.Body.Kind()
				if b, ok := e.Body.(*event.Redacted); ok {
					if !b.Clean || b.Reason != "cards" {
						t.Errorf("it is recorded as %+v", b)
					}
					places[string(kinds[b.Target])]++
				}
			}
			if places["user_message"] != 2 || places["assistant_message"] != 5 || places["step_ended"] != 2 {
				t.Errorf("it is recorded at %v", places)
			}
			if s, ok := store.(*sqlite.Store); ok {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				_ = filepath.WalkDir(folder, func(path string, _ os.DirEntry, _ error) error {
					if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), canary) {
						t.Errorf("the canary is in the file %s", filepath.Base(path))
					}
					return nil
				})
			}
		})
	}
}

// A provider's guardrail speaks up when the log has what was said: it is erased there.
func TestWhatAProviderTakesBackIsErased(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store, err := sqlite.Open(folder, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	takes := append([]model.Chunk{{Kind: model.ChunkRedactInput, Text: "(hidden)"}}, says("No.")...)
	takes[len(takes)-1].Stop = event.StopGuardrail
	m := &heard{says: [][]model.Chunk{takes, says("fine")}}
	agent := braid.New("clerk", m)
	conv := braid.Open(store, "talk")
	r, err := agent.Run(t.Context(), "My card is "+canary, braid.In(conv))
	if err != nil || r.Stop != event.StopGuardrail {
		t.Fatalf("%v, %s", err, r.Stop)
	}
	if _, err := agent.Run(t.Context(), "And now?", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	birdsIn(t, "what the model is asked", m.asked[1].Messages)
	if got := brief(m.asked[1].Messages); got != "user:(hidden) assistant:No. user:And now?" {
		t.Errorf("the model sees %s", got)
	}
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		birdsIn(t, "the log", e)
	}
	// Another process folds it anew.
	messages, err := braid.Open(store, "talk").Messages(t.Context())
	if err != nil || brief(messages) != "user:(hidden) assistant:No. user:And now? assistant:fine" {
		t.Errorf("folded anew: %s, %v", brief(messages), err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(folder, func(path string, _ os.DirEntry, _ error) error {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), canary) {
			t.Errorf("the canary is in the file %s", filepath.Base(path))
		}
		return nil
	})
}

// A guardrail that cannot look lets nothing pass.
func TestAGuardrailThatFails(t *testing.T) {
	t.Parallel()
	fails := func(context.Context, string) (string, error) { return "", errors.New("no connection") }
	panics := func(context.Context, string) (string, error) { panic("no") }
	for name, check := range map[string]func(context.Context, string) (string, error){"an error": fails, "a panic": panics} {
		for _, place := range []braid.GuardPlace{braid.GuardInput, braid.GuardOutput, braid.GuardResult} {
			m := &heard{says: [][]model.Chunk{asksFor("look", `{"card":"`+canary+`"}`), says("so")}}
			conv := braid.NewConversation()
			agent := braid.New("clerk", m, braid.Guard("cards", check, place), braid.Func("look", "",
				func(context.Context, map[string]any) (string, error) { return canary, nil }))
			r, err := agent.Run(t.Context(), "My card is "+canary, braid.In(conv))
			switch place {
			case braid.GuardInput:
				if err == nil || r.Status != event.RunFailed || len(m.asked) != 0 {
					t.Errorf("%s at input: %v, %s, after %d calls", name, err, r.Status, len(m.asked))
				}
			case braid.GuardOutput:
				if err == nil || r.Status != event.RunFailed || len(r.Partial) != 0 {
					t.Errorf("%s at output: %v, %s, %v", name, err, r.Status, r.Partial)
				}
			default:
				if err != nil || !lastResults(&m.asked[1])[0].IsError || strings.Contains(lastSaid(m.asked[1].Messages), canary) {
					t.Errorf("%s at results: %v, %s", name, err, lastSaid(m.asked[1].Messages))
				}
			}
			for e, err := range conv.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := e.Body.(*event.UserMessage); ok && place == braid.GuardInput {
					birdsIn(t, "the log", e)
				}
			}
		}
	}
	for name, part := range map[string]braid.Part{
		"no name": braid.Guard("", noCards), "no check": braid.Guard("cards", nil), "no place": braid.Guard("cards", noCards, "sky"),
	} {
		if err := braid.New("clerk", answers(says("x")), part).Err(); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A summary that a model makes of a conversation passes the guardrails at output, and so does one of a hook.
func TestSummariesPassGuardrails(t *testing.T) {
	t.Parallel()
	for _, hooked := range []bool{false, true} {
		turn := int64(0)
		parts := []braid.Part{
			braid.Manage(braid.Management{By: braid.Summarize{Recent: 2}}),
			braid.Guard("numbers", func(_ context.Context, text string) (string, error) {
				return strings.ReplaceAll(text, "numbers", "[hidden]"), nil
			}, braid.GuardOutput),
		}
		if hooked {
			parts = append(parts, braid.On(func(_ context.Context, e *hook.AfterCompaction) error {
				e.Summary = text("They talked about numbers.")
				return nil
			}))
		}
		a := braid.New("a", summariser(1000, func(int) int64 { turn += 100; return turn }), parts...)
		conv := chat(t, a, 9)
		if got := compactions(logOfConversation(t, conv)); got == "" {
			t.Fatal("nothing was summed up")
		}
		for _, e := range logOfConversation(t, conv) {
			raw, err := event.AppendJSON(nil, e)
			if err != nil || strings.Contains(string(raw), "numbers") && e.Body.Kind() != "redacted" {
				t.Errorf("hook %v: the log holds %s: %v", hooked, raw, err)
			}
		}
		if messages, err := conv.Messages(t.Context()); err != nil || !strings.Contains(brief(messages), "[hidden]") {
			t.Errorf("hook %v: the model sees %s: %v", hooked, brief(messages), err)
		}
	}
}

// The forms in which a tool's result may hold a text that is not written plainly, or not in a text block.
func TestGuardrailsSeeEveryFormOfAResult(t *testing.T) {
	t.Parallel()
	escaped := strings.ReplaceAll(canary, "-", `\u002d`)
	address := "https://files.example/" + canary
	for name, out := range map[string]tool.Output{
		"escapes":                {Structured: json.RawMessage(`{"card":"` + escaped + `"}`)},
		"escapes in a name":      {Structured: json.RawMessage(`{"` + escaped + `":1}`)},
		"escapes, also as text":  {Structured: json.RawMessage(`["` + escaped + `"]`), Content: []event.Block{&event.Text{Text: `["` + escaped + `"]`}}},
		"an image's address":     {Content: []event.Block{&event.Image{URL: address}}},
		"a document's address":   {Content: []event.Block{&event.Document{URL: address}}},
		"a recording's address":  {Content: []event.Block{&event.Media{Media: "audio", URL: address}}},
		"a result in the result": {Content: []event.Block{&event.ToolResult{Call: "x", Content: []event.Block{&event.Image{URL: address}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv, m := braid.NewConversation(), answers(asksFor("odd", `{}`), says("done"))
			var sent []event.Message
			next := m.next
			m.next = func(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				sent = append(sent, req.Messages...)
				return next(ctx, req)
			}
			agent := braid.New("a", m, braid.Guard("cards", noCards), braid.Tools(odd{func() (tool.Output, error) { return out, nil }}))
			if _, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil {
				t.Fatal(err)
			}
			see := func(where string, v any) {
				text, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				// Escapes of escapes are read once more, as a model reads them.
				if plain := strings.ReplaceAll(string(text), `\\u002d`, "-"); strings.Contains(plain, canary) {
					t.Errorf("%s: %s", where, text)
				}
			}
			see("the request", sent)
			for e, err := range conv.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				see("the log", e)
			}
		})
	}
}
