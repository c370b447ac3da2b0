package task_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/task"
)

// call is a call of the Task tool.
func call(kind, prompt string) map[string]any {
	return map[string]any{"subagent_type": kind, "prompt": prompt}
}

// with is a call that names a model.
func with(model string, c map[string]any) map[string]any { c["model"] = model; return c }

func team() []task.Type {
	return []task.Type{
		{Agent: braid.New("finder", echo("m:finder", 3)), Description: "Finds facts."},
		{Agent: braid.New("writer", echo("m:writer", 5))},
	}
}

var known = task.Options{
	Models:     task.Aliases(map[string]braid.Model{"haiku": echo("m:haiku", 1), "opus": echo("m:opus", 50)}),
	ModelNames: []string{"haiku", "opus"},
}

// What a call gives, and the agents that worked for it.
func TestCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options task.Options
		calls   []map[string]any
		want    string
		opened  string
	}{
		"one": {calls: []map[string]any{call("finder", "tides")}, want: "m:finder: tides", opened: "finder"},
		"at the same time": {
			calls: []map[string]any{call("finder", "tides"), call("writer", "ebb"), call("finder", "moon")},
			want:  "m:finder: tides | m:writer: ebb | m:finder: moon", opened: "finder writer finder",
		},
		"with an alias": {
			options: known, calls: []map[string]any{with("haiku", call("finder", "tides")), call("finder", "moon")},
			want: "m:haiku: tides | m:finder: moon", opened: "finder/haiku finder",
		},
		"an unknown type": {
			calls: []map[string]any{call("thinker", "tides"), call("finder", "moon")},
			want:  `Error: there is no subagent_type "thinker"; the types are finder, writer. | m:finder: moon`, opened: "finder",
		},
		"an unknown alias": {
			options: known, calls: []map[string]any{with("gpt", call("finder", "tides")), with("opus", call("writer", "moon"))},
			want:   `Error: the agent cannot work with the model "gpt": there is no such model (name one of haiku, opus). | m:opus: moon`,
			opened: "writer/opus",
		},
		"a model where none can be chosen": {
			calls: []map[string]any{with("haiku", call("finder", "tides"))},
			want:  `Error: the agent cannot work with the model "haiku": this tool lets no model be chosen (leave model out).`,
		},
		"no prompt": {
			calls: []map[string]any{call("finder", " \n")}, want: "Error: invalid arguments: prompt is missing; it says what the agent is to do.",
		},
		"no type": {
			calls: []map[string]any{call("", "x")}, want: "Error: invalid arguments: subagent_type is missing; the types are finder, writer.",
		},
		"a number for a prompt": {
			calls: []map[string]any{{"subagent_type": "finder", "prompt": 7}},
			want:  "Error: invalid arguments: prompt is not a text.",
		},
		"a word for a switch": {
			calls: []map[string]any{{"subagent_type": "finder", "prompt": "x", "run_in_background": "yes"}},
			want:  "Error: invalid arguments: run_in_background is not true or false.",
		},
		"another name of the tool is another tool": {
			options: task.Options{Name: "Delegate"}, calls: []map[string]any{call("finder", "tides")},
			want: `Error: there is no tool called "Task"; the tools are: Delegate.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := braid.NewConversation()
			agent := braid.New("lead", lead(c.calls...), braid.Tools(task.New(c.options, team()...)))
			r, err := agent.Run(t.Context(), "go", braid.In(conv))
			if err != nil {
				t.Fatal(err)
			}
			if r.Text() != c.want {
				t.Errorf("the results are %q, want %q", r.Text(), c.want)
			}
			var opened []string
			for _, o := range ran(t, conv) {
				s := o.Agent
				if o.Asked != "" {
					s += "/" + o.Asked
				}
				if want := "m:" + cmp.Or(o.Asked, o.Agent); o.Model != want {
					t.Errorf("%s starts with the model %s, want %s", s, o.Model, want)
				}
				opened = append(opened, s)
				if !o.Task || o.Description != "some work" || o.Depth != 1 {
					t.Errorf("the log has %+v", o)
				}
			}
			if got := strings.Join(opened, " "); got != c.opened {
				t.Errorf("%q worked, want %q", got, c.opened)
			}
		})
	}
}

// Agents of one answer work at the same time: each waits until all have begun.
func TestAgentsWorkAtTheSameTime(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	all.Add(3)
	meet := &brain{name: "m:meet", think: func(context.Context, *model.Request) ([]model.Chunk, error) {
		all.Done()
		all.Wait()
		return says("here"), nil
	}}
	agent := braid.New("lead", lead(call("one", "a"), call("one", "b"), call("one", "c")),
		braid.Tools(task.New(task.Options{}, task.Type{Agent: braid.New("one", meet)})))
	r, err := agent.Run(t.Context(), "go")
	if err != nil || r.Text() != "here | here | here" {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// Agents nest down to the loop's limit, and the call beyond it is refused.
func TestNestedAgents(t *testing.T) {
	t.Parallel()
	for depth, want := range map[int]string{
		0: "m:end: down", // the limit's default is 8
		2: "Error: agents may call agents 2 levels deep, and this would be one more.",
	} {
		below := braid.New("end", echo("m:end", 1))
		for _, name := range []string{"c", "b"} {
			below = braid.New(name, lead(call(below.Name(), "down")), braid.Tools(task.New(task.Options{}, task.Type{Agent: below})))
		}
		conv := braid.NewConversation()
		agent := braid.New("a", lead(call("b", "down")), braid.Tools(task.New(task.Options{}, task.Type{Agent: below})),
			braid.Limit(braid.Limits{Depth: depth}))
		r, err := agent.Run(t.Context(), "go", braid.In(conv))
		if err != nil || !strings.Contains(r.Text(), want) && depth == 0 {
			t.Errorf("at most %d deep: %q, %v", depth, r.Text(), err)
		}
		if n := len(ran(t, conv)); depth == 0 && n != 3 || depth == 2 && n != 2 {
			t.Errorf("at most %d deep: %d agents worked", depth, n)
		}
	}
}

// An agent beside the Task tool, as a tool and as a type, has its own limits and tools.
func TestOwnLimitsAndTools(t *testing.T) {
	t.Parallel()
	noisy := &brain{name: "m:noisy", think: func(_ context.Context, req *model.Request) ([]model.Chunk, error) {
		if len(req.Tools) != 1 || req.Tools[0].Name != "knock" {
			t.Errorf("the agent is offered %d tools", len(req.Tools))
		}
		return append(toolCall(0, "k", "knock", `{}`), model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}), nil
	}}
	knocks := 0
	knock := braid.Func("knock", "Knocks.", func(context.Context, struct{}) (int, error) { knocks++; return knocks, nil })
	helper := braid.New("helper", noisy, knock, braid.Limit(braid.Limits{Cycles: 2}))
	agent := braid.New("lead", lead(call("helper", "x")), braid.AsTool(helper, "Helps."), braid.Tools(task.New(task.Options{}, task.Type{Agent: helper})))
	r, err := agent.Run(t.Context(), "go")
	if err != nil || knocks != 2 || !strings.Contains(r.Text(), `Error: agent "helper"`) {
		t.Errorf("%d knocks, %q, %v", knocks, r.Text(), err)
	}
}

// What is wrong with a Task tool, the agent reports.
func TestWrongTools(t *testing.T) {
	t.Parallel()
	one := braid.New("one", echo("m", 1))
	for name, c := range map[string]struct {
		tool *task.Tool
		want string
	}{
		"no types":        {task.New(task.Options{}), "no types"},
		"no agent":        {task.New(task.Options{}, task.Type{}), "has no agent"},
		"one name twice":  {task.New(task.Options{}, task.Type{Agent: one}, task.Type{Agent: braid.New("one", echo("m", 1))}), "called"},
		"a wrong agent":   {task.New(task.Options{}, task.Type{Agent: braid.New("two", nil)}), "no model"},
		"a wrong name":    {task.New(task.Options{Name: "no name"}, task.Type{Agent: one}), "no name"},
		"the agent above": {task.New(task.Options{}, task.Type{Agent: braid.New("lead", echo("m", 1))}), "two agents are called"},
	} {
		_, err := braid.New("lead", lead(), braid.Tools(c.tool)).Run(t.Context(), "go")
		if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	agent := braid.New("lead", lead())
	if err := agent.AddTools(task.New(task.Options{}, task.Type{Agent: one})); !errors.Is(err, event.ErrUnsupported) {
		t.Errorf("an agent at work got a Task tool: %v", err)
	}
	if _, err := task.New(task.Options{}, task.Type{Agent: one}).Call(t.Context(), json.RawMessage(`{}`)); !errors.Is(err, event.ErrUnsupported) {
		t.Errorf("a Task tool was called by itself: %v", err)
	}
}

// A model that a call chose is held to what its agent asks, and to the limits in money above it.
func TestChosenModelsAreChecked(t *testing.T) {
	t.Parallel()
	picky := &picky{brain: *echo("m:picky", 1)}
	free := echo("m:free", -1)
	for name, c := range map[string]struct {
		models func(ctx context.Context, kind, name string) (task.Model, error)
		want   string
	}{
		"refused by the model": {task.Aliases(map[string]braid.Model{"x": picky}), "no tools"},
		"of unknown price":     {task.Aliases(map[string]braid.Model{"x": free}), "the price of this model is unknown"},
		"simulated":            {task.Aliases(map[string]braid.Model{"x": simulated{echo("m", 1)}}), "it is simulated"},
		"nil":                  {func(context.Context, string, string) (task.Model, error) { return task.Model{}, nil }, "there is no model"},
		"a panic": {
			func(context.Context, string, string) (task.Model, error) { panic("oops") }, "panicked",
		},
	} {
		knock := braid.Func("knock", "Knocks.", func(context.Context, struct{}) (int, error) { return 0, nil })
		helper := braid.New("helper", echo("m:own", 1), knock)
		agent := braid.New("lead", lead(with("x", call("helper", "go"))), braid.Limit(braid.Limits{CostNanoUSD: 1e12}),
			braid.Tools(task.New(task.Options{Models: c.models}, task.Type{Agent: helper})))
		r, err := agent.Run(t.Context(), "go")
		if err != nil || !strings.HasPrefix(r.Text(), `Error: the agent cannot work with the model "x"`) || !strings.Contains(r.Text(), c.want) {
			t.Errorf("%s: %q, %v", name, r.Text(), err)
		}
	}
}

// picky is a model that takes no tools.
type picky struct{ brain }

func (*picky) Check(req *model.Request) error {
	if len(req.Tools) > 0 {
		return &event.Error{Kind: event.ErrUnsupported, Message: "it takes no tools"}
	}
	return nil
}

type simulated struct{ *brain }

func (s simulated) Info() model.Info {
	info := s.brain.Info()
	info.Simulated = true
	return info
}
