package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid/internal/answercheck"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/internal/schemacheck/hostile"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// plainTool is a tool with a schema of its own.
type plainTool struct{ schema string }

func (t plainTool) Spec() model.ToolSpec {
	return model.ToolSpec{Name: "odd", Schema: json.RawMessage(t.schema)}
}

func (plainTool) Call(context.Context, json.RawMessage) (tool.Output, error) {
	return tool.Text("called"), nil
}

// A schema that no check could finish is refused where an agent is made, and an answer to a question
// with such a schema is taken as it is: nothing runs without end.
func TestHostileSchemasEndNothing(t *testing.T) {
	t.Parallel()
	for _, s := range hostile.Schemas() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			schema := json.RawMessage(s.Text)
			for place, part := range map[string]braid.Part{
				"the answer's schema": braid.OutputSchema(schema), "a tool's schema": braid.Tools(plainTool{s.Text}),
			} {
				err := braid.New("a", answers(says(`{"n":1}`)), part).Err()
				var e *event.Error
				if !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Hint == "" || len(e.Message) > 500 {
					t.Errorf("%s: %v", place, err)
				}
			}
			if err := answercheck.CheckValue(&event.Asked{Ask: event.AskInput, Schema: schema}, map[string]int{"n": 1}); err != nil {
				t.Errorf("the answer to a question: %v", err)
			}
		})
	}
}

// An answer that cannot be checked in a bounded number of steps fails its own run, at once.
func TestAnAnswerThatCannotBeChecked(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","$dynamicAnchor":"n","properties":{"a":{"allOf":[{"$dynamicRef":"#n"},{"$dynamicRef":"#n"}]}}}`)
	deep := strings.Repeat(`{"a":`, 200) + "{}" + strings.Repeat("}", 200)
	ways := []bool{true, false}
	if race.On {
		ways = ways[:1] // each check takes millions of steps on one goroutine: make test-long makes both
	}
	for _, held := range ways {
		m := &listed{name: "m", output: held, answer: says(deep)}
		r, err := braid.New("a", m, braid.OutputSchema(schema)).Run(t.Context(), "go")
		if !errors.Is(err, event.ErrLimit) || r.Status != event.RunFailed || len(m.asked) != 1 {
			t.Errorf("held %v: %v, %s after %d calls", held, err, r.Status, len(m.asked))
		}
		if !strings.Contains(err.Error(), "could not be checked") {
			t.Errorf("the error is %v", err)
		}
	}
}

// Trees and other schemas that recurse into the value work.
func TestAnAnswerThatIsATree(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}`)
	tree := `{"name":"leaf"}`
	for range 100 {
		tree = `{"name":"n","children":[` + tree + `]}`
	}
	m := &listed{name: "m", output: true, answer: says(tree)}
	if r, err := braid.New("a", m, braid.OutputSchema(schema)).Run(t.Context(), "go"); err != nil || string(r.Output) != tree {
		t.Errorf("a tree: %v", err)
	}
	m.answer = says(strings.Replace(tree, `"leaf"`, "1", 1))
	if _, err := braid.New("a", m, braid.OutputSchema(schema)).Run(t.Context(), "go"); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a tree with a wrong leaf: %v", err)
	}
}
