package agentfile

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/internal/nearest"
	"github.com/braidrun/braid/tool"
)

// agentsOf makes the agents in the list of a definition. They may name each other in any order.
func (l *loader) agentsOf(f *fields, depth int) {
	f.each("agents", func(one *yaml.Node) {
		if name := nameOf(one); name != "" {
			l.declared[name] = one
		}
	})
	f.each("agents", func(one *yaml.Node) {
		if !l.done[one] {
			l.definition(one, depth+1)
		}
	})
}

// nameOf returns the name in a definition; empty if it has none.
func nameOf(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == "name" && n.Content[i+1].Kind == yaml.ScalarNode {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// agentOf returns the agent that a value names or defines.
func (l *loader) agentOf(n *yaml.Node, depth int) *braid.Agent {
	switch {
	case l.err != nil || n == nil:
		return nil
	case n.Kind == yaml.MappingNode:
		agent, _ := l.definition(n, depth+1)
		return agent
	}
	name := l.scalar(n, "the name of an agent")
	if l.err != nil {
		return nil
	}
	if a := l.made[name]; a != nil {
		return a
	}
	if i := slices.Index(l.open, name); i >= 0 && (l.names.Agents[name] == nil || l.declared[name] != nil) {
		l.fail(n, "remove one of these uses", "the agent %q is below itself: %s", name, strings.Join(append(slices.Clone(l.open[i:]), name), " > "))
		return nil
	}
	if one := l.declared[name]; one != nil {
		agent, _ := l.definition(one, depth+1)
		return agent
	}
	if a := l.names.Agents[name]; a != nil {
		return a
	}
	known := append(slices.Collect(maps.Keys(l.declared)), slices.Collect(maps.Keys(l.names.Agents))...)
	l.fail(n, hint(name, known, "define it under agents"), "there is no agent %q", name)
	return nil
}

// toolOf returns the tool that a value names.
func (l *loader) toolOf(n *yaml.Node) tool.Tool {
	if l.err != nil || n == nil {
		return nil
	}
	name := l.scalar(n, "the name of a tool")
	t := l.names.Tools[name]
	if t == nil {
		l.fail(n, hint(name, slices.Collect(maps.Keys(l.names.Tools)), "this program has no tools for files"), "there is no tool %q", name)
		return nil
	}
	return t
}

// nodeToolOf returns the tool that a node names.
func (l *loader) nodeToolOf(n *yaml.Node) tool.Tool {
	t := l.toolOf(n)
	if t == nil || l.names.NodeTools == nil || l.names.NodeTools[n.Value] != nil {
		return t
	}
	l.fail(n, "let an agent call it", "a node may not run the tool %q, because it needs permission", n.Value)
	return nil
}

// mostListed is the largest number of names that a hint lists.
const mostListed = 30

// hint returns the name that is near, or the known ones, or what to do if there are none or very many.
func hint(name string, known []string, otherwise string) string {
	slices.Sort(known)
	if near := nearest.Word(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	if len(known) == 0 || len(known) > mostListed {
		return otherwise
	}
	return "use one of " + strings.Join(known, ", ")
}
