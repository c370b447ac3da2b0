package agentfile

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/task"
	"github.com/braidrun/braid/tool"
)

// calls is a model that calls a tool once, and then answers with its name around the result.
type calls struct{ name, tool, args string }

func (m calls) Info() model.Info { return model.Info{Name: m.name} }

func (m calls) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	last := req.Messages[len(req.Messages)-1]
	for _, b := range last.Content {
		if r, ok := b.(*event.ToolResult); ok {
			text := event.TextOf(r.Content)
			return echo(m.name).Stream(ctx, &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: text}}}}})
		}
	}
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range []model.Chunk{
			{Kind: model.ChunkCall, ID: "1", Text: m.tool},
			{Kind: model.ChunkCallInput, Text: m.args},
			{Kind: model.ChunkStop, Stop: event.StopToolUse},
		} {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// calling are names of which the model "lead" calls a tool.
func calling(name, args string) Names {
	n := names()
	open := n.Model
	n.Model = func(ref string) (model.Model, error) {
		if ref == "lead" {
			return calls{"lead", name, args}, nil
		}
		return open(ref)
	}
	return n
}

func TestAgentsBelowAnAgentOfAFile(t *testing.T) {
	t.Parallel()
	const input, prompt = `{"input":"find it"}`, `{"description":"x","prompt":"find it","subagent_type":"finder"}`
	finder := "\nagents: [{name: finder, model: m}]"
	for name, c := range map[string]struct{ file, tool, args, want string }{
		"as a tool":          {"sub_agents: [finder]" + finder, "finder", input, "lead(m(find it))"},
		"described":          {"sub_agents: [{agent: finder, description: Finds.}]" + finder, "finder", input, "lead(m(find it))"},
		"defined in place":   {"sub_agents: [{name: finder, model: m}]", "finder", input, "lead(m(find it))"},
		"both in place":      {"sub_agents: [{agent: {name: finder, model: m}, description: Finds.}]", "finder", input, "lead(m(find it))"},
		"written in Go":      {"sub_agents: [a]", "a", input, "lead(a(find it))"},
		"by the Task tool":   {"task: {agents: [finder]}" + finder, task.Name, prompt, "lead(m(find it))"},
		"with another model": {"task: {agents: [finder], models: {haiku: small}}" + finder, task.Name, `{"model":"haiku",` + prompt[1:], "lead(small(find it))"},
		"in any order": {
			"sub_agents: [{agent: finder}]\nagents: [{name: finder, kind: sequence, members: [last]}, {name: last, model: m}]", "finder", input,
			"lead(m(find it))",
		},
	} {
		f, err := Read([]byte("name: lead\nmodel: lead\n"+c.file), calling(c.tool, c.args))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r, err := f.Agent.Run(t.Context(), "go"); err != nil || r.Text() != c.want {
			t.Errorf("%s: %q, %v", name, r.Text(), err)
		}
	}
}

// A call in the background returns a receipt, and the answer comes later.
func TestATaskOfAFileInTheBackground(t *testing.T) {
	t.Parallel()
	args := `{"description":"x","prompt":"find it","subagent_type":"finder","run_in_background":true}`
	for word, background := range map[string]task.Background{"await": task.AwaitBackground, "stop": task.StopBackground} {
		f, err := Read([]byte("name: lead\nmodel: lead\ntask: {agents: [{name: finder, model: m}], background: "+word+"}"), calling(task.Name, args))
		if err != nil {
			t.Fatal(err)
		}
		made, ok := f.Agent.Tools()[0].(*task.Tool)
		if !ok || made.Background("finder") != background {
			t.Errorf("%s: %v", word, made)
		}
	}
}

func TestMistakesOfAgentsBelowAnAgent(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"sub_agents: [z]", `line 3, column 14: there is no agent "z"`},
		{"sub_agents: [finde]\nagents: [{name: finder, model: m}]", "did you mean finder?"},
		{"tools: [finb]", "did you mean find?"},
		{"tools: [nothing]", "use one of find"},
		{"sub_agents: z", "line 3, column 13: sub_agents is not a list"},
		{"sub_agents: [{agent: a, task: true}]", `line 3, column 25: there is no key "task"`},
		{"sub_agents: [a, a]", `line 1, column 7: two tools are called "a"`},
		{"sub_agents: [x]", `line 3, column 14: the agent "x" is below itself: x > x`},
		{"task: {agents: [x]}", `line 3, column 17: the agent "x" is below itself: x > x`},
		{"agents:\n  - {name: s, kind: sequence, members: [x]}", `line 4, column 41: the agent "x" is below itself: x > s > x`},
		{"agents:\n  - {name: b, model: m}\n  - {name: b, model: m}", `line 5, column 12: the file defines two agents called "b"`},
		{"task: {}", "line 3, column 7: the Task tool has no agents"},
		{"task: [a]", "line 3, column 7: this is not a mapping"},
		{"task: {agents: [a, a]}", `line 3, column 7: two types of a Task tool are called "a"`},
		{"task: {agents: [a], background: yes}", `line 3, column 33: background is "yes"`},
		{"task: {agents: [a], models: {haiku: none}}", "line 3, column 37: there is no model none"},
		{"task: {agents: [a], models: {haiku: ''}}", `line 3, column 30: the model "haiku" cannot be opened`},
		{"task: {agents: [a], models: [haiku]}", "line 3, column 29: this is not a mapping"},
		{"task: {agents: [a], model: haiku}", `line 3, column 21: there is no key "model"`},
		{"agents:\n  - {name: b, model: m, sub_agents: [c]}\n  - {name: c, model: m, task: {agents: [b]}}", `line 5, column 41: the agent "b" is below itself: b > c > b`},
	} {
		text, want := c[0], c[1]
		_, err := Read([]byte("name: x\nmodel: m\n"+text), names())
		if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The program's parts go to each agent of the file, and its own model to those that name none.
func TestPartsAndTheDefaultModel(t *testing.T) {
	t.Parallel()
	n := names()
	n.Default = echo("own")
	var asked []string
	n.Parts = func(m model.Model, tools []tool.Tool) []braid.Part {
		name := "flow"
		if m != nil {
			name = m.Info().Name
		}
		for _, one := range tools {
			name += " " + one.Spec().Name
		}
		asked = append(asked, name)
		if m == nil {
			return nil
		}
		return []braid.Part{braid.Permit(braid.Permissions{Deny: []string{"find"}})}
	}
	f, err := Read([]byte("kind: sequence\nname: s\nmembers: [{name: x, tools: [find]}, {name: y, model: m}]"), n)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := f.Agent.Run(t.Context(), "go"); err != nil || r.Text() != "m(own(go))" {
		t.Errorf("%q, %v", r.Text(), err)
	}
	if want := []string{"own find", "m", "flow"}; !slices.Equal(asked, want) {
		t.Errorf("%q", asked)
	}
}

// A node runs no tool that needs permission.
func TestToolsOfNodes(t *testing.T) {
	t.Parallel()
	n := names()
	n.NodeTools = map[string]tool.Tool{}
	const graph = "kind: graph\nname: g\nnodes: [{name: a, tool: find}]"
	if _, err := Read([]byte(graph), n); err == nil || !strings.Contains(err.Error(), `line 3, column 25: a node may not run the tool "find"`) {
		t.Error(err)
	}
	n.NodeTools["find"] = n.Tools["find"]
	if _, err := Read([]byte(graph), n); err != nil {
		t.Error(err)
	}
}
