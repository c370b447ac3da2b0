package agentfile

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// echo answers with its name around what it is asked, or with an answer of its own.
type echo string

func (m echo) Info() model.Info { return model.Info{Name: string(m)} }

func (m echo) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		text := string(m) + "(" + strings.ReplaceAll(req.Messages[len(req.Messages)-1].Text(), "\n", "|") + ")"
		if yield(model.Chunk{Kind: model.ChunkText, Text: text}, nil) {
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
		}
	}
}

func says(name string) *braid.Agent {
	return flow.Func(name, func(_ context.Context, in string) (string, error) { return name + "(" + in + ")", nil }, tool.Pure())
}

func names() Names {
	return Names{
		Agents: map[string]*braid.Agent{"a": says("a"), "b": says("b"), "c": says("c")},
		Tools: map[string]tool.Tool{"find": braid.Func("find", "Finds.", func(_ context.Context, in struct {
			City string `json:"city"`
		},
		) (string, error) {
			return "in " + in.City, nil
		}, tool.Pure())},
		Conditions: map[string]func(context.Context, flow.Visit) (bool, error){
			"short": func(_ context.Context, v flow.Visit) (bool, error) { return len(v.Text()) < 8, nil },
		},
		Model: func(name string) (model.Model, error) {
			if name == "none" {
				return nil, &event.Error{Kind: event.ErrModelNotFound, Message: "there is no model none"}
			}
			return echo(name), nil
		},
	}
}

const review = `
kind: graph
name: review
agents:
  - {name: writer, model: w, instructions: Write.}
entry: [draft]
nodes:
  - {name: draft, agent: writer, visits: 3, fan_in: any, retries: 1, retry_wait: 1s, timeout: 30s}
  - name: check
    agent: a
  - name: done
    agent: {name: last, kind: sequence, members: [b, c]}
    feed: outputs
edges:
  - {from: draft, to: check}
  - from: check
    to: draft
    if: {matches: '^never$'}
  - {from: check, to: done, else: true}
`

func TestAFileMeansWhatGoMeans(t *testing.T) {
	t.Parallel()
	f, err := Read([]byte(review), names())
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Agent.Run(t.Context(), "go")
	if err != nil || r.Text() != "c(b(a(w(go))))" {
		t.Errorf("%q, %v", r.Text(), err)
	}
	if f.Graph == nil || !strings.Contains(f.Graph.Drawing().DOT(), "matches") {
		t.Error("the file has no graph to draw")
	}
}

func TestConditionsOfAFile(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]string{
		"contains: A(": "yes", "contains: x": "no", "equals: a(go)": "yes", "equals: a": "no", "matches: '^a.go.$'": "yes", "call: short": "yes",
	} {
		text := fmt.Sprintf(`
kind: graph
name: g
nodes:
  - {name: a, agent: a}
  - {name: "yes", agent: b}
  - {name: "no", agent: c}
edges:
  - {from: a, to: "yes", if: {%s}}
  - {from: a, to: "no", else: true}
answer: ["yes", "no"]
`, condition)
		f, err := Read([]byte(text), names())
		if err != nil {
			t.Errorf("%s: %v", condition, err)
			continue
		}
		r, err := f.Agent.Run(t.Context(), "go")
		if got := map[string]string{"b(a(go))": "yes", "c(a(go))": "no"}[r.Text()]; err != nil || got != want {
			t.Errorf("%s: %q, %v", condition, r.Text(), err)
		}
	}
}

// Each mistake is reported with its line and column, and a file reaches only what the program gave it.
func TestMistakesOfAFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "the file is empty",
		"a: [":                            "not YAML",
		"- a":                             "line 1, column 1: this is not a mapping",
		"name: x":                         `the agent "x" has no model`,
		"kind: x\nname: y":                `line 1, column 7: there is no kind "x"`,
		"kind: graph\nname: g\nnodes: {}": "line 3, column 8: nodes is not a list",
		"kind: graph\nname: g\nnodes:\n  - {name: a, agent: z}":                                                             `line 4, column 22: there is no agent "z"`,
		"kind: graph\nname: g\nnodes:\n  - {name: a, tool: z}":                                                              `line 4, column 21: there is no tool "z"`,
		"kind: graph\nname: g\nnodes:\n  - {name: a, agent: a}\n  - {name: a, agent: b}":                                    `line 5, column 5: node "a": two nodes`,
		"kind: graph\nname: g\nnodes:\n  - {name: a, agent: a, vists: 3}":                                                   `line 4, column 25: there is no key "vists"`,
		"kind: graph\nname: g\nnodes:\n  - {name: a, agent: a, visits: -1}":                                                 "line 4, column 33: visits is not a number",
		"kind: graph\nname: g\nnodes:\n  - {name: a, agent: a, timeout: 3}":                                                 "timeout is not a time",
		"kind: graph\nname: g\nnodes:\n  - {name: a, agent: a, fan_in: some}":                                               `fan_in is "some"`,
		"kind: graph\nname: g\nnodes:\n  - {name: a, agent: a}\nedges:\n  - {from: a, to: b}":                               `line 6, column 5: there is no node "b"`,
		"kind: graph\nname: g\nnodes:\n  - {name: a, agent: a}\nedges:\n  - {from: a, to: a, if: {contains: x, equals: y}}": "the condition is not clear",
		"kind: graph\nname: g\nnodes:\n  - {name: a, agent: a}\nedges:\n  - {from: a, to: a, if: {matches: '('}}":           "not a regular expression",
		"kind: graph\nname: g\nnodes:\n  - {name: a, agent: a}\nedges:\n  - {from: a, to: a, if: {call: z}}":                `there is no condition "z"`,
		"name: x\nname: y\nmodel: m":                   `line 2, column 1: the key "name" is there twice`,
		"name: x\nmodel: none":                         "line 2, column 8: there is no model none",
		"name: &a x\nmodel: *a":                        "aliases are not supported",
		"name: x\nmodel: m\n---\nname: y":              "a second document",
		"name: x\nmodel: m\noutput: {1: {}}":           "output",
		"kind: sequence\nname: s":                      "there are no members",
		"kind: swarm\nname: s":                         "no members",
		"kind: swarm\nname: s\nmembers: [a]\nstart: b": `"b", which is no member`,
		"kind: sequence\nname: a\nmembers: [a]":        `two agents are called "a"`,
		strings.Repeat("x", MaxBytes+1):                "it may have",
		nested(12):                                     "nested deeper than 8 levels",
	} {
		_, err := Read([]byte(text), names())
		if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %q", text, err, want)
		}
	}
}

// nested is a sequence in a sequence, and so on.
func nested(depth int) string {
	text := "a"
	for i := range depth {
		text = fmt.Sprintf("{kind: sequence, name: s%d, members: [%s]}", i, text)
	}
	return text
}

func TestASwarmOfAFile(t *testing.T) {
	t.Parallel()
	f, err := Read([]byte(`
kind: swarm
name: team
agents:
  - {name: one, model: m1}
  - {name: two, model: m2}
members:
  - one
  - {agent: two, description: Does the rest., timeout: 1m}
handoffs: 3
ping_pong: {window: 4, agents: 2}
`), names())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := f.Agent.Run(t.Context(), "go"); err != nil || r.Text() != "m1(go)" {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// No text makes Read panic, and its errors are of the kind for invalid input.
func FuzzRead(f *testing.F) {
	f.Add(review)
	f.Add("kind: swarm\nname: s\nmembers: [a]")
	f.Add("<<: *a\n? {a: b}\n: c")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Read([]byte(text), names()); err != nil && !errors.Is(err, event.ErrInvalid) {
			t.Error(err)
		}
	})
}
