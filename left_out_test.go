package braid_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// guest is a tool of somebody else's server.
type guest struct {
	name, schema string
	left         *[]string
}

func (g guest) Spec() model.ToolSpec {
	schema := g.schema
	if schema == "" {
		schema = `{"type":"object"}`
	}
	return model.ToolSpec{Name: g.name, Description: "does " + g.name, Schema: json.RawMessage(schema)}
}

func (g guest) Call(context.Context, json.RawMessage) (tool.Output, error) {
	return tool.Text(g.name), nil
}

func (guest) Server() string { return "inn" }

func (g guest) LeftOut(model string, why error) {
	*g.left = append(*g.left, strings.TrimSpace(g.name+" "+model)+": "+why.Error())
}

// ours is a tool of the program's own.
func ours(name string) braid.Tool { return saysName(name) }

// bare is a tool of the program's own with a schema of its own.
type bare struct{ name, schema string }

func (b bare) Spec() model.ToolSpec {
	return model.ToolSpec{Name: b.name, Schema: json.RawMessage(b.schema)}
}

func (bare) Call(context.Context, json.RawMessage) (tool.Output, error) { return tool.Output{}, nil }

// choosy is a model that fails, and refuses tools beforehand.
type choosy struct {
	heard

	err error
}

func (m *choosy) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	if m.err == nil {
		return m.heard.Stream(ctx, req)
	}
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, m.err) }
}

// What an agent does with tools that it, or a model of it, cannot have: those of others are left out and told, for the
// model alone where it is one model's fault, and the program's own are an error.
func TestToolsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	refuses := func(kind event.ErrorKind, names ...string) func(*model.Request) error {
		return func(req *model.Request) error {
			for _, tool := range req.Tools {
				if slices.Contains(names, tool.Name) {
					return &event.Error{Kind: kind, Message: "the tool " + tool.Name + " cannot be told"}
				}
			}
			return nil
		}
	}
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprint("t", i))
	}
	for _, c := range []struct {
		name  string
		tools func(g func(name, schema string) braid.Tool) []braid.Tool
		check func(*model.Request) error
		parts []braid.Part
		shown string // the model is shown these
		left  string // part of what is told, for each tool that is left out
		err   string
	}{
		{
			name: "all are fine", tools: func(g func(string, string) braid.Tool) []braid.Tool { return []braid.Tool{g("a", ""), ours("b")} },
			shown: "a b",
		},
		{
			name: "a schema of no object",
			tools: func(g func(string, string) braid.Tool) []braid.Tool {
				return []braid.Tool{g("a", `{"type":"string"}`), g("b", ""), ours("c")}
			},
			shown: "b c", left: "a: tool a: ",
		},
		{
			name: "a schema that never ends",
			tools: func(g func(string, string) braid.Tool) []braid.Tool {
				return []braid.Tool{g("a", `{"type":"object","$ref":"#"}`), g("b", "")}
			},
			shown: "b", left: "a: tool a: ",
		},
		{
			name: "odd and long names",
			tools: func(g func(string, string) braid.Tool) []braid.Tool {
				return []braid.Tool{g("a b", ""), g(strings.Repeat("n", 65), ""), g("", ""), g("b", "")}
			},
			shown: "b", left: "a b: |nnn|: tool",
		},
		{
			name: "two of one name", tools: func(g func(string, string) braid.Tool) []braid.Tool {
				return []braid.Tool{g("a", ""), g("a", `{"type":"object","title":"2"}`)}
			},
			shown: "a", left: `two tools are called "a"`,
		},
		{
			name: "the name of an own one", tools: func(g func(string, string) braid.Tool) []braid.Tool {
				return []braid.Tool{ours("a"), g("a", ""), g("b", "")}
			},
			shown: "a b", left: `two tools are called "a"`,
		},
		{
			name: "the name of an own one that comes later", tools: func(g func(string, string) braid.Tool) []braid.Tool {
				return []braid.Tool{g("a", ""), g("b", ""), ours("a")}
			},
			shown: "b a", left: `two tools are called "a"`,
		},
		{
			name: "the name of the tool for answers", tools: func(g func(string, string) braid.Tool) []braid.Tool {
				return []braid.Tool{g(braid.OutputTool, ""), g("b", "")}
			},
			parts: []braid.Part{braid.OutputSchema(json.RawMessage(`{"type":"object"}`))},
			shown: "b " + braid.OutputTool, left: braid.OutputTool + " test:heard",
		},
		{
			name: "a model refuses two of many", check: refuses(event.ErrInvalid, "t7", "t31"),
			tools: func(g func(string, string) braid.Tool) (list []braid.Tool) {
				for _, name := range many {
					list = append(list, g(name, ""))
				}
				return append(list, ours("b"))
			},
			shown: strings.Join(slices.DeleteFunc(append(slices.Clone(many), "b"), func(s string) bool { return s == "t7" || s == "t31" }), " "),
			left:  "t7 test:heard: the tool t7 cannot|t31 test:heard: the tool t31 cannot",
		},
		{
			name: "a model refuses an own one", check: refuses(event.ErrInvalid, "a"), err: "the tool a cannot be told",
			tools: func(g func(string, string) braid.Tool) []braid.Tool { return []braid.Tool{ours("a"), g("b", "")} },
		},
		{
			name: "a model without tools", check: refuses(event.ErrUnsupported, "a", "b"), err: "cannot be told",
			tools: func(g func(string, string) braid.Tool) []braid.Tool { return []braid.Tool{g("a", ""), g("b", "")} },
		},
		{
			name: "an own one of no object", err: "the schema of its arguments",
			tools: func(func(string, string) braid.Tool) []braid.Tool {
				return []braid.Tool{bare{"a", `{"type":"string"}`}}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var left []string
			tools := c.tools(func(name, schema string) braid.Tool { return guest{name, schema, &left} })
			m := &heard{check: c.check, says: [][]model.Chunk{says("{}")}}
			if c.parts != nil {
				m.says = [][]model.Chunk{answersWith(`{}`)}
			}
			parts := append([]braid.Part{braid.Tools(tools...), braid.From(inns{})}, c.parts...)
			agent := braid.New("host", m, parts...)
			err := agent.Err()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("the agent says %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			conv := braid.NewConversation()
			if _, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil {
				t.Fatal(err)
			}
			var shown []string
			for _, tool := range m.asked[0].Tools {
				shown = append(shown, tool.Name)
			}
			if got := strings.Join(shown, " "); got != c.shown {
				t.Errorf("the model is shown %s, want %s", got, c.shown)
			}
			begun, ok := logOfConversation(t, conv)[0].Body.(*event.RunStarted)
			if !ok || strings.Join(slices.DeleteFunc(shown, func(n string) bool { return n == braid.OutputTool }), " ") != strings.Join(begun.Tools, " ") {
				t.Errorf("the run begins with %q", begun.Tools)
			}
			told := strings.Join(left, "\n")
			for one := range strings.SplitSeq(c.left, "|") {
				if !strings.Contains(told, one) {
					t.Errorf("%q is not told in %s", one, told)
				}
			}
			skipped := begun.Servers[0].Skipped
			if (c.left == "") != (len(skipped) == 0) || len(begun.Servers[1].Skipped) > 0 {
				t.Errorf("the run begins with %+v", begun.Servers)
			}
			for _, s := range skipped {
				if s.Why == "" || !strings.Contains(told, s.Tool) {
					t.Errorf("it says %+v", s)
				}
			}
		})
	}
}

// A tool that one model cannot be told of is there for the other models of the agent, and comes and goes with the list.
func TestToolsOfOneModelOnly(t *testing.T) {
	t.Parallel()
	var left []string
	refuses := func(req *model.Request) error {
		if i := slices.IndexFunc(req.Tools, func(t model.ToolSpec) bool { return strings.Contains(string(t.Schema), "odd") }); i >= 0 {
			return &event.Error{Kind: event.ErrInvalid, Message: "not " + req.Tools[i].Name}
		}
		return nil
	}
	picky := &choosy{heard: heard{check: refuses, says: [][]model.Chunk{says("one")}}}
	var others []string
	other := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		for _, tool := range req.Tools {
			others = append(others, tool.Name)
		}
		return chunks(says("two"))
	}}
	agent := braid.New("host", picky, braid.Tools(guest{"a", `{"type":"object","title":"odd"}`, &left}, guest{"b", "", &left}, ours("c")),
		braid.Fallback([]event.ErrorKind{event.ErrOverloaded}, other))
	shown := func() string {
		t.Helper()
		picky.asked = nil
		if _, err := agent.Run(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range picky.asked[0].Tools {
			names = append(names, tool.Name)
		}
		return strings.Join(names, " ")
	}
	if got := shown(); got != "b c" {
		t.Errorf("the model is shown %s", got)
	}
	picky.err = &event.Error{Kind: event.ErrOverloaded, Message: "not now"}
	if _, err := agent.Run(t.Context(), "go"); err != nil || strings.Join(others, " ") != "a b c" {
		t.Errorf("the other model is shown %q, %v", others, err)
	}
	picky.err = nil
	if err := agent.ReplaceTools([]string{"a", "b"}, guest{"a", "", &left}, guest{"b", `{"type":"object","title":"odd"}`, &left}, guest{"d", "{}", &left}); err != nil {
		t.Fatal(err)
	}
	if got := shown(); got != "c a" {
		t.Errorf("after the change the model is shown %s", got)
	}
	if told := strings.Join(left, "\n"); !strings.Contains(told, "a test:heard: ") || !strings.Contains(told, "b test:heard: ") || !strings.Contains(told, "d: ") {
		t.Errorf("it is told %s", told)
	}
	if names := fmt.Sprint(len(agent.Tools())); names != "3" {
		t.Errorf("the agent has %s tools", names)
	}
}

// inns are the servers of optional tools.
type inns struct{}

func (inns) Tools() []braid.Tool { return nil }

func (inns) Instructions() string { return "" }

func (inns) ToolServers() []event.ToolServer {
	return []event.ToolServer{{Name: "inn", Status: "connected"}, {Name: "other", Status: "connected"}}
}
