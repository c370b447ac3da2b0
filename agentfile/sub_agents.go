package agentfile

import (
	"cmp"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/task"
)

// subAgents reads the agents below an agent: sub_agents are tools, and task is the Task tool.
func (l *loader) subAgents(f *fields, depth int) (parts []braid.Part) {
	f.each("sub_agents", func(n *yaml.Node) {
		one := l.sub(n, depth)
		if one.Agent != nil {
			parts = append(parts, braid.AsTool(one.Agent, cmp.Or(one.Description, "Has the agent "+one.Agent.Name()+" do a part of the work.")))
		}
	})
	if v := f.get("task"); v != nil && l.err == nil {
		parts = append(parts, braid.Tools(l.task(v, depth)))
	}
	return parts
}

// sub reads an agent below another one: its name, its definition, or a mapping with the key agent.
func (l *loader) sub(n *yaml.Node, depth int) (t task.Type) {
	if n.Kind != yaml.MappingNode || !hasKey(n, "agent") {
		t.Agent = l.agentOf(n, depth)
		return t
	}
	f := l.fields(n)
	t.Agent, t.Description = l.agentOf(f.get("agent"), depth), f.text("description")
	f.end()
	return t
}

func hasKey(n *yaml.Node, key string) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

// task reads a Task tool: the agents that a call may name, the models that it may choose, and whether calls may be in the
// background.
func (l *loader) task(n *yaml.Node, depth int) *task.Tool {
	f := l.fields(n)
	background := l.background(f)
	var types []task.Type
	f.each("agents", func(n *yaml.Node) {
		t := l.sub(n, depth)
		t.Background = background
		types = append(types, t)
	})
	options := l.taskModels(f)
	f.end()
	if l.err == nil && len(types) == 0 {
		l.fail(n, "add agents", "the Task tool has no agents")
	}
	if l.err != nil {
		return nil
	}
	made := task.New(options, types...)
	if err := made.Err(); err != nil {
		l.err = at(n, err)
	}
	return made
}

// background reads what of the work may be in the background.
func (l *loader) background(f *fields) task.Background {
	switch word := f.text("background"); word {
	case "":
	case "await":
		return task.AwaitBackground
	case "stop":
		return task.StopBackground
	default:
		l.fail(f.at("background"), "write await or stop, or leave it out", "background is %q", word)
	}
	return task.NoBackground
}

// taskModels reads the models that calls may choose, by name. They are opened at once.
func (l *loader) taskModels(f *fields) (o task.Options) {
	v := f.get("models")
	if v == nil {
		return o
	}
	one := l.fields(v)
	known := map[string]braid.Model{}
	for i := 0; l.err == nil && i < len(v.Content); i += 2 {
		name := v.Content[i].Value
		ref := one.text(name)
		if ref == "" || l.names.Model == nil {
			l.fail(v.Content[i], "write the name of a model", "the model %q cannot be opened", name)
			return o
		}
		m, err := l.names.Model(ref)
		if err != nil {
			l.err = at(v.Content[i+1], err)
			return o
		}
		known[name] = m
	}
	if l.err == nil {
		o.Models, o.ModelNames = task.Aliases(known), slices.Sorted(maps.Keys(known))
	}
	return o
}
