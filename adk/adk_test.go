package adk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/adk"
	"github.com/braidrun/braid/artifact"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// says is a model that answers with a text, and keeps the instructions that it saw.
type says struct {
	text string
	call bool
	saw  []string
}

func (*says) Info() model.Info { return model.Info{Name: "test:says"} }

func (m *says) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	m.saw = append(m.saw, req.Instructions)
	return func(yield func(model.Chunk, error) bool) {
		if m.call && len(req.Messages) == 1 {
			_ = yield(model.Chunk{Kind: model.ChunkText, Text: "let me look"}, nil) &&
				yield(model.Chunk{Kind: model.ChunkCall, ID: "c", Text: "look"}, nil) &&
				yield(model.Chunk{Kind: model.ChunkCallInput, Text: "{}"}, nil) &&
				yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: m.text}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	var j journal.Memory
	files := artifact.NewStore(j.Blobs()).Of(artifact.Owner{Tenant: "t", User: "ann", Conversation: "c"})
	for name, text := range map[string]string{"a.txt": "the file {name}", "user:b": "mine", "bad": "\xff", "long": strings.Repeat("x", adk.MaxInstructions+1)} {
		if _, err := files.Save(t.Context(), name, "text/plain", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	open := func(context.Context) (artifact.Files, error) { return files, nil }
	state := map[string]any{
		"name": "Ann {other} {artifact.a.txt}", "other": "no", "n": 7, "yes": true, "nothing": nil, "list": []string{"a"}, "app:tone": "kind", "user:lang": "ja",
		"großes_1": "ß", "big": strings.Repeat("x", adk.MaxInstructions),
	}
	for _, c := range []struct{ template, want, err string }{
		{"Be kind.", "Be kind.", ""},
		{"Help {name}.", "Help Ann {other} {artifact.a.txt}.", ""},
		{"{n} {yes} {nothing}| {list}", `7 true | ["a"]`, ""},
		{"{ app:tone } {{user:lang}} {temp:now} {großes_1}", "kind ja noon ß", ""},
		{"{gone?}{app:gone?}|{n?}", "|7", ""},
		{`{"json": {n}} {} {a b} {a-b} {x:y} {1} {braid.grants} { {n {n}`, `{"json": 7 {} {a b} {a-b} {x:y} {1} {braid.grants} { {n 7`, ""},
		{"}{n}{", "}7{", ""},
		{"{artifact.a.txt}, {artifact.user:b}{artifact.gone?}", "the file {name}, mine", ""},
		{"{gone}", "", `name "gone"`},
		{"{artifact.gone}", "", `the artifact "gone", which is not there`},
		{"{artifact.../x}", "", "cannot have this name"},
		{"{artifact.bad}", "", "is no text"},
		{"{artifact.long}", "", "more than"},
		{"{big} {n}", "", "more than"},
	} {
		m := &says{text: "ok"}
		conv := braid.NewConversation()
		if err := conv.ChangeState(t.Context(), braid.AnyVersion, state, nil); err != nil {
			t.Fatal(err)
		}
		agent := braid.New("a", m, adk.Instructions(c.template, adk.Artifacts(open)))
		_, err := agent.Run(t.Context(), "go", braid.In(conv), braid.WithState(map[string]any{"now": "noon"}), braid.WithInstructions("{n} stays."))
		if c.err != "" {
			if !strings.Contains(fmt.Sprint(err), c.err) || !errors.Is(err, event.ErrInvalid) || len(m.saw) > 0 {
				t.Errorf("%q: %v, the model saw %q", c.template, err, m.saw)
			}
			continue
		}
		if diff := cmp.Diff([]string{c.want + "\n\n{n} stays."}, m.saw); err != nil || diff != "" {
			t.Errorf("%q: %v %s", c.template, err, diff)
		}
	}
	if err := braid.New("a", &says{}, adk.Instructions("{artifact.a?}")).Err(); !strings.Contains(fmt.Sprint(err), "pass adk.Artifacts") {
		t.Error(err)
	}
	none := func(context.Context) (artifact.Files, error) { return nil, nil }
	if _, err := braid.New("a", &says{}, adk.Instructions("{artifact.a?}", adk.Artifacts(none))).Run(t.Context(), "go"); !strings.Contains(fmt.Sprint(err), "has none") {
		t.Error(err)
	}
}

// Another hook may replace the instructions, or add to them.
func TestInstructionsAndOtherHooks(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(string) string{
		"Above. Hi 7": func(s string) string { return "Above. " + s },
		"Mine {n}":    func(string) string { return "Mine {n}" },
	} {
		m := &says{text: "ok"}
		before := braid.On(func(_ context.Context, e *hook.BeforeModel) error {
			e.Request.Instructions = change(e.Request.Instructions)
			return nil
		}, braid.Order(-1))
		_, err := braid.New("a", m, adk.Instructions("Hi {temp:n}"), before).Run(t.Context(), "go", braid.WithState(map[string]any{"n": 7}))
		if diff := cmp.Diff([]string{want}, m.saw); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
}

// An agent of a sequence finds what the one before it has kept, and the change is in the log before the end of the agent's work.
func TestOutputKey(t *testing.T) {
	t.Parallel()
	critic := &says{text: "fine"}
	look := braid.Func("look", "Looks.", func(context.Context, struct{}) (string, error) { return "seen", nil })
	agent := flow.Sequence("paper",
		braid.New("writer", &says{text: "a {draft}", call: true}, look, adk.OutputKey("draft")),
		braid.New("critic", critic, adk.Instructions("Judge: {draft}"), adk.OutputKey("user:verdict")),
	).Use(adk.OutputKey("temp:all"))
	var told []string
	conv := braid.NewConversation()
	for e, err := range agent.Stream(t.Context(), "go", braid.In(conv)) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *event.StateChanged:
			set, _ := json.Marshal(b.Set)
			told = append(told, e.Author+" "+string(set))
		case *event.ScopeClosed:
			told = append(told, "closed")
		case *event.RunEnded:
			told = append(told, "ended")
		}
	}
	if diff := cmp.Diff([]string{`writer {"draft":"a {draft}"}`, "closed", `critic {"user:verdict":"fine"}`, "closed", "ended"}, told); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Judge: a {draft}"}, critic.saw); diff != "" {
		t.Error(diff)
	}
	if got, ok, err := braid.State[string]("draft").Of(t.Context(), conv); got != "a {draft}" || !ok || err != nil {
		t.Error(got, ok, err)
	}
}

func TestWhatAnOutputKeyKeeps(t *testing.T) {
	t.Parallel()
	type answer struct {
		N int `json:"n"`
	}
	ends := braid.Func("look", "Looks.", func(ctx context.Context, _ struct{}) (string, error) {
		tool.EndTurn(ctx)
		return "seen", nil
	})
	returns := braid.Func("look", "Looks.", func(ctx context.Context, _ struct{}) (string, error) {
		tool.ReturnDirect(ctx)
		return "seen", nil
	})
	boom := braid.On(func(context.Context, *hook.AfterAgent) error { return errors.New("boom") })
	for name, c := range map[string]struct {
		model *says
		parts []braid.Part
		want  string
		err   string
	}{
		"text":                       {&says{text: "hi"}, nil, `"hi"`, ""},
		"nothing":                    {&says{}, nil, "", ""},
		"structured output":          {&says{text: `{"n":7}`}, []braid.Part{braid.OutputType[answer]()}, `{"n":7}`, ""},
		"results instead of words":   {&says{call: true}, []braid.Part{ends}, "", ""},
		"a result as the answer":     {&says{call: true}, []braid.Part{returns}, `"seen"`, ""},
		"a limit":                    {&says{call: true, text: "hi"}, []braid.Part{ends, braid.Limit(braid.Limits{Cycles: 1})}, "", ""},
		"another hook's error":       {&says{text: "hi"}, []braid.Part{boom}, "", "boom"},
		"a key that no value may be": {&says{text: "hi"}, []braid.Part{adk.OutputKey("braid.x")}, "", "are taken"},
	} {
		conv := braid.NewConversation()
		_, err := braid.New("a", c.model, append(c.parts, adk.OutputKey("out"))...).Run(t.Context(), "go", braid.In(conv))
		if (err != nil) != (c.err != "") || !strings.Contains(fmt.Sprint(err), c.err) {
			t.Errorf("%s: %v", name, err)
		}
		got, _, err := braid.State[json.RawMessage]("out").Of(t.Context(), conv)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
}

func TestTheKeyIsChecked(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "braid.x", "\xff"} {
		if err := braid.New("a", &says{}, adk.OutputKey(key)).Err(); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// Hooks after an agent read and write the state, without secrets. Those before a model call only read it.
func TestStateInHooks(t *testing.T) {
	t.Parallel()
	var wrote error
	conv := braid.NewConversation()
	agent := braid.New("a", &says{text: "hi"},
		braid.On(func(ctx context.Context, _ *hook.BeforeModel) error {
			wrote = tool.State[int]("n").Set(ctx, 1)
			return nil
		}),
		braid.On(func(ctx context.Context, _ *hook.AfterAgent) error {
			n := tool.State[int]("n")
			add := func(old int) (int, error) {
				seen, _, err := n.Get(ctx)
				return old + seen + 1, err
			}
			return errors.Join(n.Set(ctx, 2), n.Update(ctx, add), tool.State[string]("gone").Delete(ctx), tool.State[int]("temp:n").Set(ctx, 3),
				tool.State[string]("told").Set(ctx, "it is open-sesame-42"))
		}))
	if err := conv.ChangeState(t.Context(), braid.AnyVersion, map[string]any{"gone": "x"}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := agent.Run(t.Context(), "go", braid.In(conv), braid.WithSecrets(map[string]secret.Secret{"k": secret.New("open-sesame-42")}))
	if err != nil || !strings.Contains(fmt.Sprint(wrote), "only be read") {
		t.Fatal(err, wrote)
	}
	if string(r.State["n"]) != "3" {
		t.Errorf("%s", r.State)
	}
	n, _, err := braid.State[int]("n").Of(t.Context(), conv)
	if _, gone, _ := braid.State[string]("gone").Of(t.Context(), conv); n != 5 || gone || err != nil {
		t.Error(n, gone, err)
	}
	if told, _, err := braid.State[string]("told").Of(t.Context(), conv); told != "it is "+secret.Redacted || err != nil {
		t.Error(told, err)
	}
}

// Hooks after an agent are not called for one that fails, nor for the program's own calls. They are called again for a run that
// goes on.
func TestWhenAfterAgentIsCalled(t *testing.T) {
	t.Parallel()
	fails := braid.On(func(context.Context, *hook.BeforeModel) error { return errors.New("boom") })
	more := braid.On(func(_ context.Context, e *hook.AfterRun) error {
		if e.Rounds == 0 && e.Status == event.RunCompleted {
			e.GoOn = []event.Block{&event.Text{Text: "more"}}
		}
		return nil
	})
	for name, c := range map[string]struct {
		part braid.Part
		want int
	}{"answers": {nil, 1}, "fails": {fails, 0}, "goes on": {more, 2}} {
		calls := 0
		_, _ = braid.New("a", &says{text: "hi"}, c.part, braid.On(func(_ context.Context, e *hook.AfterAgent) error {
			calls++
			if e.Agent != "a" || e.Scope != "" || event.TextOf(e.Answer) != "hi" || e.Output != nil {
				t.Errorf("%+v", e)
			}
			return nil
		})).Run(t.Context(), "go")
		if calls != c.want {
			t.Errorf("%s: %d calls", name, calls)
		}
	}
}
