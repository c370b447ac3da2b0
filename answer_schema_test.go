package braid_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

func TestAnAnswerThatIsToBeJSON(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	for _, c := range []struct{ says, output string }{
		{`{"n":3}`, `{"n":3}`},
		{"```json\n{\"n\":3}\n```", `{"n":3}`},
		{` {"n":3} `, `{"n":3}`},
		{`{"n":"three"}`, ""},
		{`{"n":3,"n":4}`, ""},
		{`It is 3.`, ""},
	} {
		m := answers(says(c.says))
		agent := braid.New("a", m, braid.Instructions("Count."), braid.OutputSchema(schema))
		conv := braid.NewConversation()
		r, err := agent.Run(t.Context(), "how many?", braid.In(conv))
		if (c.output == "") != errors.Is(err, event.ErrInvalid) || r.Status != event.RunCompleted {
			t.Errorf("%s: %v, %+v", c.says, err, r)
		}
		for e, err := range conv.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.RunEnded); ok && string(b.Output) != c.output {
				t.Errorf("%s: the output is %s", c.says, b.Output)
			}
		}
	}
	if err := braid.New("a", answers(says("x")), braid.OutputSchema(json.RawMessage(`[]`))).Err(); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a schema that is none: %v", err)
	}
}

// Each model of a list is asked for JSON in its own way, and the answer is held to the
// schema however it was asked for.
func TestAProviderIsGivenTheSchema(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	for _, c := range []struct {
		name, agent string
		held        bool
		wantName    string
	}{
		{"held", "a guide, 2", true, "a_guide__2"},
		{"held, of a name that says nothing to providers", "案内", true, "answer"},
		{"held, of a long name", strings.Repeat("x", 99), true, strings.Repeat("x", 64)},
		{"told", "guide", false, ""},
	} {
		first := &listed{name: "first", output: !c.held, fails: []error{fault(event.ErrThrottled)}}
		second := &listed{name: "second", output: c.held, answer: says(`{"n":3}`)}
		agent := braid.New(c.agent, first, braid.OutputSchema(schema), braid.Instructions("Count."),
			braid.Fallback([]event.ErrorKind{event.ErrThrottled}, second))
		r, err := agent.Run(t.Context(), "how many?")
		if err != nil || r.Text() != `{"n":3}` {
			t.Errorf("%s: %q, %v", c.name, r.Text(), err)
		}
		for _, m := range []*listed{first, second} {
			req := m.asked[0]
			if m.output != (req.Output != nil) || m.output != (len(req.Tools) == 0) || req.Instructions != "Count." ||
				!m.output && (req.Tools[0].Name != braid.OutputTool || string(req.Tools[0].Schema) != string(schema)) ||
				req.ToolChoice != (model.ToolChoice{}) {
				t.Errorf("%s: %s is asked for %+v with %+v and told %q", c.name, m.name, req.Output, req.Tools, req.Instructions)
			}
		}
		if o := second.asked[0].Output; c.held && (o.Name != c.wantName || string(o.Schema) != string(schema)) {
			t.Errorf("%s: the schema is %s, %s", c.name, o.Name, o.Schema)
		}
	}
	held := &listed{name: "held", output: true, answer: says(`{"n":"three"}`)}
	if _, err := braid.New("a", held, braid.OutputSchema(schema)).Run(t.Context(), "how many?"); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("an answer that does not keep to it: %v", err)
	}
}
