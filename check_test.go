package braid_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// checked is a model that says what it cannot be asked.
type checked struct {
	listed

	err  error
	seen []*model.Request
}

func (m *checked) Check(req *model.Request) error {
	m.seen = append(m.seen, req)
	return m.err
}

// around is a model that wraps another one.
type around struct{ braid.Model }

func (a around) Unwrap() braid.Model { return a.Model }

func TestAModelIsAskedWhatItCannotBeAsked(t *testing.T) {
	t.Parallel()
	no := &event.Error{Op: "schema", Kind: event.ErrUnsupported, Message: "it knows no patterns", Hint: "leave them out"}
	bad := &checked{listed: listed{name: "bad"}, err: no}
	tool := braid.Func("add", "", add)
	some := []event.ErrorKind{event.ErrThrottled}
	for name, agent := range map[string]*braid.Agent{
		"the model":     braid.New("desk", bad, tool),
		"wrapped twice": braid.New("desk", around{around{bad}}, tool),
		"the second":    braid.New("desk", &listed{name: "a"}, tool, braid.Fallback(some, bad)),
		"added later": func() *braid.Agent {
			a := braid.New("desk", bad.but(nil))
			_ = a.Err()
			return a.Use(braid.Fallback(some, bad))
		}(),
		"an agent as a tool": braid.New("root", &listed{name: "a"}, braid.AsTool(braid.New("desk", bad), "")),
	} {
		err := agent.Err()
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != event.ErrUnsupported || e.Message != no.Message || e.Hint != no.Hint ||
			!strings.Contains(e.Op, "desk") || !strings.Contains(e.Op, "bad") || !errors.Is(err, no) {
			t.Errorf("%s: %v", name, err)
		}
		if _, ran := agent.Run(t.Context(), "go"); !errors.Is(ran, event.ErrUnsupported) {
			t.Errorf("%s: it runs: %v", name, ran)
		}
	}
	if err := braid.New("desk", bad.but(errors.New("no"))).Err(); !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), "no") {
		t.Errorf("a plain error: %v", err)
	}
}

func (m *checked) but(err error) *checked {
	return &checked{listed: listed{name: "other " + m.name}, err: err}
}

// It is asked about all that it will be told, once however many tools are added.
func TestACheckSeesWhatTheModelWillBeTold(t *testing.T) {
	t.Parallel()
	held, told := &checked{listed: listed{name: "held", output: true}}, &checked{listed: listed{name: "told"}}
	agent := braid.New("desk", held, braid.Fallback([]event.ErrorKind{event.ErrThrottled}, told), braid.Options(model.Options{MaxTokens: 7}),
		braid.OutputSchema([]byte(`{"type":"object"}`)), braid.Instructions("Be brief."))
	for i := range 200 {
		agent.Use(braid.Func("tool"+strings.Repeat("x", i%60)+string(rune('a'+i/60)), "", add))
	}
	for range 3 {
		if err := agent.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range []*checked{held, told} {
		if len(m.seen) != 1 {
			t.Fatalf("%s was asked %d times", m.name, len(m.seen))
		}
		req := m.seen[0]
		want := model.ToolChoice{}
		tools := 200
		if !m.output {
			want, tools = model.ToolChoice{Mode: model.ToolsOne, Tool: braid.OutputTool}, 201
		}
		if len(req.Tools) != tools || req.Options.MaxTokens != 7 || len(req.Messages) != 0 || (req.Output != nil) != m.output ||
			req.Instructions != "Be brief." || req.ToolChoice != want || (req.Tools[tools-1].Name == braid.OutputTool) == m.output {
			t.Errorf("%s is asked for %d tools, %+v, %+v, %q", m.name, len(req.Tools), req.ToolChoice, req.Output, req.Instructions)
		}
	}
}
