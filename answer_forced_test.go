package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// refusing is a model of a provider that refuses what it does not have, when it is checked and
// again, as a vendor does, when it is called. Where it can it answers in words first and then in
// the form.
type refusing struct {
	name string
	// forces says that it can be made to call a tool, texts that it holds text to schemas,
	// stricts that it holds arguments to them, and recursive that such a schema may refer to itself.
	forces, texts, stricts, recursive bool
	// apart says that it takes no tools beside a schema for its text.
	apart bool
	fails error

	calls   int
	refused []string
	last    model.Request
}

func (m *refusing) Info() model.Info { return model.Info{Name: m.name, Output: m.texts} }

func (m *refusing) Check(req *model.Request) error {
	no := func(format string, args ...any) error {
		return &event.Error{Op: "model " + m.name, Kind: event.ErrUnsupported, Message: fmt.Sprintf(format, args...)}
	}
	fits := func(schema json.RawMessage) bool {
		return m.recursive || !strings.Contains(string(schema), `"$ref"`) && !strings.Contains(string(schema), `"sights"`)
	}
	switch {
	case !m.forces && (req.ToolChoice.Mode == model.ToolsOne || req.ToolChoice.Mode == model.ToolsAny):
		return no("a call cannot be forced")
	case req.Output != nil && !m.texts, req.Output != nil && !fits(req.Output.Schema):
		return no("its text cannot be held to the schema")
	case req.Output != nil && m.apart && len(req.Tools) > 0:
		return no("no tools beside a schema")
	}
	for _, t := range req.Tools {
		if t.Strict && (!m.stricts || !fits(t.Schema)) {
			return no("the arguments of %s cannot be held to the schema", t.Name)
		}
	}
	return nil
}

func (m *refusing) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	m.calls++
	m.last = *req
	if m.fails != nil {
		return failing(m.fails)
	}
	if err := m.Check(req); err != nil {
		m.refused = append(m.refused, err.Error())
		return failing(err)
	}
	const node = `{"value":1,"next":{"value":2}}`
	if m.calls == 1 {
		return chunks(says("It is one, and then two."))
	}
	if slices.ContainsFunc(req.Tools, func(t model.ToolSpec) bool { return t.Name == braid.OutputTool }) {
		return chunks(answersWith(node))
	}
	return chunks(says(node))
}

func (m *refusing) String() string {
	return fmt.Sprintf("%s forces %v, texts %v, stricts %v, recursive %v, apart %v", m.name, m.forces, m.texts, m.stricts, m.recursive, m.apart)
}

// way is how the model was asked.
func (m *refusing) way() string {
	req := &m.last
	i := slices.IndexFunc(req.Tools, func(t model.ToolSpec) bool { return t.Name == braid.OutputTool })
	switch {
	case req.Output != nil:
		return "held"
	case i >= 0 && req.Tools[i].Strict:
		if !strings.Contains(req.Instructions, "calling the tool "+braid.OutputTool) || req.ToolChoice != (model.ToolChoice{}) {
			return "strict, and nothing asks for it"
		}
		return "strict"
	case i >= 0:
		return "called"
	case strings.Contains(req.Instructions, "valid under this JSON schema"):
		return "told"
	default:
		return "not"
	}
}

// wanted is how the model must be asked; empty for not at all.
func (m *refusing) wanted(refers, tools bool) string {
	fits := !refers || m.recursive
	switch {
	case m.texts && fits && (!m.apart || !tools):
		return "held"
	case m.forces:
		return "called"
	case m.stricts && fits:
		return "strict"
	case m.texts && (!m.apart || !tools) || m.stricts:
		return ""
	default:
		return "told"
	}
}

// Whatever a provider refuses, the answer is asked for in a form that it takes, and a schema for which
// there is none is an error before anything runs.
func TestAModelThatCannotBeForced(t *testing.T) {
	t.Parallel()
	plain := json.RawMessage(`{"type":"object","properties":{"value":{"type":"integer"},"next":{"type":"object"}},"required":["value"]}`)
	recursive := json.RawMessage(`{"type":"object","properties":{"value":{"type":"integer"},"next":{"$ref":"#"}},"required":["value"]}`)
	bits := func(n int, name string) *refusing {
		on := func(i int) bool { return n>>i&1 == 1 }
		return &refusing{name: name, forces: on(0), texts: on(1), stricts: on(2), recursive: on(3), apart: on(4)}
	}
	ran, failed := 0, 0
	for n := range 32 {
		// The second model has other abilities, or there is none.
		for _, second := range []int{-1, 0, 1, 2, 4, 31 - n} {
			for _, refers := range []bool{false, true} {
				for _, tools := range []bool{false, true} {
					model := bits(n, "first")
					schema := plain
					if refers {
						schema = recursive
					}
					parts := []braid.Part{braid.OutputSchema(schema), braid.Instructions("Count.")}
					asked, wanted := model, model.wanted(refers, tools)
					all := []*refusing{model}
					if second >= 0 {
						model.fails = &event.Error{Kind: event.ErrModelAuth, Message: "the key has expired"}
						asked = bits(second, "second")
						all = append(all, asked)
						parts = append(parts, braid.Fallback([]event.ErrorKind{event.ErrModelAuth}, asked))
						if wanted != "" {
							wanted = asked.wanted(refers, tools)
						}
					}
					if tools {
						parts = append(parts, braid.Func("add", "", add))
					}
					name := fmt.Sprintf("%v, refers %v, tools %v", all, refers, tools)
					agent := braid.New("counter", model, parts...)
					made := agent.Err()
					r, err := agent.Run(t.Context(), "What?")
					if wanted == "" {
						failed++
						var e *event.Error
						if !errors.Is(made, event.ErrUnsupported) || !errors.Is(err, event.ErrUnsupported) || model.calls+asked.calls > 0 ||
							!errors.As(made, &e) || e.Code != "SCHEMA_INVALID" || e.Hint == "" {
							t.Errorf("%s: the agent is made: %v, and runs: %v, after %d calls", name, made, err, model.calls)
						}
						continue
					}
					ran++
					if made != nil || err != nil || string(r.Output) != `{"value":1,"next":{"value":2}}` {
						t.Errorf("%s: %v, %v, %s", name, made, err, r.Output)
					}
					if got := asked.way(); got != wanted || len(asked.refused) > 0 || asked.calls != 2 {
						t.Errorf("%s: asked %q, want %q, in %d calls, refused %v", name, got, wanted, asked.calls, asked.refused)
					}
				}
			}
		}
	}
	if ran < 100 || failed < 50 {
		t.Errorf("%d ran and %d did not", ran, failed)
	}
}

// RunAs finds out before the run, too.
func TestATypeThatAModelCannotBeHeldTo(t *testing.T) {
	t.Parallel()
	model := &refusing{name: "first", texts: true, stricts: true}
	agent := braid.New("counter", model)
	conv := braid.NewConversation()
	_, _, err := braid.RunAs[city](t.Context(), agent, "What?", braid.In(conv))
	if !errors.Is(err, event.ErrUnsupported) || model.calls > 0 {
		t.Errorf("it runs: %v, %d calls", err, model.calls)
	}
	if _, _, err := braid.RunAs[addIn](t.Context(), agent, "What?", braid.In(conv)); errors.Is(err, event.ErrUnsupported) || model.calls == 0 {
		t.Errorf("another type: %v", err)
	}
}
