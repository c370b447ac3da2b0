package agentfile

import (
	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// agent reads an agent with a model.
func (l *loader) agent(f *fields, name string, depth int) *braid.Agent {
	instructions, schema := f.text("instructions"), f.json("output")
	var tools []tool.Tool
	f.each("tools", func(n *yaml.Node) { tools = append(tools, l.toolOf(n)) })
	below := l.subAgents(f, depth)
	m := l.model(f, name)
	if l.err != nil {
		return nil
	}
	parts := append([]braid.Part{braid.Instructions(instructions), braid.Tools(tools...)}, below...)
	if schema != nil {
		parts = append(parts, braid.OutputSchema(schema))
	}
	if l.names.Parts != nil {
		parts = append(parts, l.names.Parts(m, tools)...)
	}
	return braid.New(name, m, parts...)
}

// model opens the model of an agent.
func (l *loader) model(f *fields, name string) model.Model {
	ref := f.text("model")
	switch {
	case l.err != nil:
		return nil
	case ref == "" && l.names.Default != nil:
		return l.names.Default
	case ref == "":
		l.fail(f.node, "add model", "the agent %q has no model", name)
		return nil
	case l.names.Model == nil:
		l.fail(f.at("model"), "pass Names.Model", "this program opens no models for files")
		return nil
	}
	opened, err := l.names.Model(ref)
	if err != nil {
		l.err = at(f.at("model"), err)
		return nil
	}
	return opened
}

// members reads a list of agents.
func (l *loader) members(f *fields, depth int) (list []*braid.Agent) {
	f.each("members", func(n *yaml.Node) { list = append(list, l.agentOf(n, depth)) })
	if l.err == nil && len(list) == 0 {
		l.fail(f.node, "add members", "there are no members")
	}
	return list
}

// sequence reads a sequence.
func (l *loader) sequence(f *fields, name string, depth int) *braid.Agent {
	list := l.members(f, depth)
	if l.err != nil {
		return nil
	}
	return flow.Sequence(name, list...)
}
