package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
)

// A model is asked with everything that its agent says, in each cycle: what it
// is told to be, its tools as they describe themselves, and its settings.
func TestWhatAModelIsAsked(t *testing.T) {
	t.Parallel()
	warmth := 0.5
	options := model.Options{MaxTokens: 100, Temperature: &warmth, StopWords: []string{"END"}, Thinking: 50}
	tool := braid.Func("add", "Adds two numbers.", add)
	type asked struct {
		Instructions string
		Tools        []model.ToolSpec
		Options      model.Options
		Run, Scope   string
		Cycle, Try   int
		Last         string
		Blocks       int // of the last message
	}
	var got []asked
	m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		last := req.Messages[len(req.Messages)-1].Content
		text := event.TextOf(last)
		for _, r := range lastResults(req) {
			text = event.TextOf(r.Content)
		}
		got = append(got, asked{req.Instructions, req.Tools, req.Options, req.Run, req.Scope, req.Cycle, req.Attempt, text, len(last)})
		if req.Cycle == 1 {
			return chunks(asksFor("add", `{"a":3,"b":5}`))
		}
		return chunks(says("8"))
	}}
	agent := braid.New("calc", m, braid.Instructions("You add."), braid.Options(options), tool)
	result, err := agent.Run(t.Context(), "3 + 5")
	if err != nil {
		t.Fatal(err)
	}
	want := asked{"You add.", []model.ToolSpec{tool.Spec()}, options, result.Run, "", 1, 1, "3 + 5", 1}
	next := want
	next.Cycle, next.Last = 2, "8"
	if d := cmp.Diff([]asked{want, next}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if spec := tool.Spec(); spec.Description != "Adds two numbers." || !strings.Contains(string(spec.Schema), "first number") {
		t.Errorf("the tool describes itself as %+v", spec)
	}
}

// Whatever a scripted model has a part in says so, in the result as in each
// event; nothing else does.
func TestSimulatedIsSaidOfAScriptAlone(t *testing.T) {
	t.Parallel()
	scripted := func(replies ...[]demo.Piece) braid.Model {
		m, err := demo.New(demo.Replies("said", replies...))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	inner := braid.New("inner", scripted([]demo.Piece{demo.Say("hi")}))
	for name, c := range map[string]struct {
		agent *braid.Agent
		want  bool
	}{
		"a script":           {inner, true},
		"a model":            {braid.New("a", answers(says("hi"))), false},
		"a script in a tool": {braid.New("a", answers(asksFor("inner", `{"input":"go"}`), says("hi")), braid.AsTool(inner, "")), true},
	} {
		var result braid.Result
		for e, err := range c.agent.Stream(t.Context(), "go", braid.Into(&result)) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Simulated != c.want {
				t.Errorf("%s: simulated is %v on %s", name, e.Simulated, e.Body.Kind())
			}
		}
		if result.Simulated != c.want {
			t.Errorf("%s: simulated is %v in the result", name, result.Simulated)
		}
	}
}

// Names that some provider would refuse are refused before any is asked.
func TestNamesOfTools(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"a": true, "A-z_09": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a.b": false, "足す": false, "a\n": false,
	} {
		if err := braid.New("a", answers(says("hi")), braid.Func(name, "", add)).Err(); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// What a tool tells of its progress reaches programs as text.
func TestProgressIsText(t *testing.T) {
	t.Parallel()
	agent := braid.New("a", answers(asksFor("work", `{}`), says("done")),
		braid.Func("work", "", func(ctx context.Context, _ struct{}) (string, error) {
			tool.Progress(ctx, "half\xff")
			return "", nil
		}))
	var told []string
	for e, err := range agent.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := e.Body.(*event.ToolProgress); ok {
			told = append(told, p.Text)
		}
	}
	if len(told) != 1 || told[0] != "half\uFFFD" {
		t.Errorf("told %q", told)
	}
}

// What no log could keep is told to the tool that gives it, not found out when
// the log refuses the whole step.
func TestStateAndQuestionsTakeJSONThatALogCanKeep(t *testing.T) {
	t.Parallel()
	deep := json.RawMessage(strings.Repeat("[", 600) + strings.Repeat("]", 600))
	for name, c := range map[string]struct {
		key   string
		value any
	}{
		"doubled keys": {"k", json.RawMessage(`{"a":1,"a":2}`)},
		"bad UTF-8":    {"k", json.RawMessage("\"\xff\"")},
		"deep":         {"k", deep},
		"a bad key":    {"\xff", 1},
		"no key":       {"", 1},
		"a channel":    {"k", make(chan int)},
	} {
		var state, asked error
		agent := braid.New("a", answers(asksFor("keep", `{}`), says("done")),
			braid.Func("keep", "", func(ctx context.Context, _ struct{}) (string, error) {
				state = tool.State[any](c.key).Set(ctx, c.value)
				if c.key == "k" {
					_, asked = braid.Ask[bool](ctx, "May I?", tool.AskPayload(c.value))
				}
				return "", nil
			}))
		result, err := agent.Run(t.Context(), "go")
		if err != nil || result.Stop != event.StopEndTurn {
			t.Errorf("%s: the run ended with %s, %v", name, result.Stop, err)
		}
		if !errors.Is(state, event.ErrInvalid) {
			t.Errorf("%s: SetState gave %v", name, state)
		}
		if c.key == "k" && !errors.Is(asked, event.ErrInvalid) {
			t.Errorf("%s: Ask gave %v", name, asked)
		}
	}
}

// What an agent sets for its model is passed as it is, and agents that are used as tools have their own.
func TestOptionsAreTheAgentsOwn(t *testing.T) {
	t.Parallel()
	options := func(name string) model.Options {
		return model.Options{
			Effort: model.EffortHigh, Extra: map[string]json.RawMessage{name: json.RawMessage(`1`)}, Headers: map[string]string{"X-Agent": name},
			ServerTools: []model.ServerTool{{Kind: model.WebSearch, Domains: []string{name + ".example"}}},
		}
	}
	below, above := &heard{says: [][]model.Chunk{says("done")}}, &heard{says: [][]model.Chunk{asksFor("below", `{"input":"go"}`), says("done")}}
	child := braid.New("below", below, braid.Options(options("below")))
	if _, err := braid.New("above", above, braid.Options(options("above")), braid.AsTool(child, "")).Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*heard{"below": below, "above": above} {
		for i := range m.asked {
			if got := m.asked[i].Options; !reflect.DeepEqual(got, options(name)) {
				t.Errorf("%s is asked with %+v", name, got)
			}
		}
	}
}
