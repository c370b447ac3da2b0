// Package agentfile makes agents of YAML files: agents with a model, graphs, swarms, sequences, parallels and loops. A file means
// the same as the same definition in Go, and the same checks apply. Errors name the line and the column.
//
// A file cannot hold code. Models, tools, agents and conditions that are written in Go have names, and [Names] says what they
// are. A file therefore reaches only what the program gives it.
package agentfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// The bounds of a file.
const (
	// MaxBytes bounds the size of a file.
	MaxBytes = 1 << 20
	// MaxDepth bounds how deep definitions are nested in definitions.
	MaxDepth = 8
)

// Names says what the names in a file mean. A nil map has no names.
type Names struct {
	// Agents are agents that are written in Go. Those that the file defines go first.
	Agents map[string]*braid.Agent
	// Tools are the tools of agents and nodes.
	Tools map[string]tool.Tool
	// NodeTools are the tools that a node of a graph may run, without a model and without permission; nil means all of Tools.
	NodeTools map[string]tool.Tool
	// Conditions are the conditions that edges and loops call. A loop passes the name of the last agent of a round as Node, its
	// answer as Output, and no Number.
	Conditions map[string]func(ctx context.Context, v flow.Visit) (bool, error)
	// Model opens a model by its name; nil means that the file may not define agents with a model.
	Model func(name string) (model.Model, error)
	// Default is the model of agents that name none; nil refuses them.
	Default model.Model
	// Parts returns more parts of an agent that the file defines, such as permissions; nil means none. For a flow m is nil.
	Parts func(m model.Model, tools []tool.Tool) []braid.Part
}

// File is what a file defines.
type File struct {
	// Agent is the agent of the file.
	Agent *braid.Agent
	// Graph is its definition if it is a graph, for drawings; nil for any other agent.
	Graph *flow.Graph
}

// Read reads a file. Its errors are of kind [event.ErrInvalid], and begin with the line and the column.
func Read(data []byte, names Names) (*File, error) {
	if len(data) > MaxBytes {
		return nil, invalid(nil, fmt.Sprintf("the file has %d bytes; it may have %d", len(data), MaxBytes), "split the file")
	}
	root, err := parse(data)
	if err != nil {
		return nil, err
	}
	l := &loader{names: names, made: map[string]*braid.Agent{}, declared: map[string]*yaml.Node{}, done: map[*yaml.Node]bool{}}
	f := &File{}
	if f.Agent, f.Graph = l.definition(root, 0); l.err != nil {
		return nil, l.err
	}
	if err := f.Agent.Check(); err != nil {
		return nil, at(root, err)
	}
	return f, nil
}

// parse reads one YAML document without aliases.
func parse(data []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, invalid(nil, "the file is empty", "define an agent")
		}
		return nil, broken(data, err)
	}
	var more yaml.Node
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, invalid(&more, "the file has a second document", "keep one document in a file")
	}
	return doc.Content[0], nil
}

// invalid returns an error at a place.
func invalid(n *yaml.Node, message, hint string) *event.Error {
	if n != nil && n.Line > 0 {
		message = fmt.Sprintf("line %d, column %d: %s", n.Line, n.Column, message)
	}
	return &event.Error{Op: "agent file", Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// at puts an error of a definition at a place.
func at(n *yaml.Node, err error) error {
	message, hint := err.Error(), ""
	if e, ok := errors.AsType[*event.Error](err); ok {
		message, hint = e.Message, e.Hint
	}
	return invalid(n, message, hint)
}

// loader makes the agents of one file. The first error stays.
type loader struct {
	names Names
	// made are the agents that the file has defined so far.
	made map[string]*braid.Agent
	// declared are the definitions in lists of agents, by name. done are those that are made.
	declared map[string]*yaml.Node
	done     map[*yaml.Node]bool
	// open are the names of the agents that are being made, from the outermost one.
	open []string
	err  error
}

func (l *loader) fail(n *yaml.Node, hint, format string, args ...any) {
	if l.err == nil {
		l.err = invalid(n, fmt.Sprintf(format, args...), hint)
	}
}

// definition makes the agent of a mapping. It returns an unusable agent after an error.
func (l *loader) definition(n *yaml.Node, depth int) (*braid.Agent, *flow.Graph) {
	if depth > MaxDepth {
		l.fail(n, "define some of them above, and name them", "definitions are nested deeper than %d levels", MaxDepth)
		return nil, nil
	}
	f := l.fields(n)
	kind := f.text("kind")
	if l.err == nil && kind == "" {
		kind = "agent"
	}
	name := f.text("name")
	if l.err == nil && name == "" {
		l.fail(n, "add name", "the definition has no name")
	}
	l.open = append(l.open, name)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	l.agentsOf(f, depth)
	var agent *braid.Agent
	var graph *flow.Graph
	switch kind {
	case "agent":
		agent = l.agent(f, name, depth)
	case "graph":
		agent, graph = l.graph(f, name, depth)
	case "swarm":
		agent = l.swarm(f, name, depth)
	case "sequence":
		agent = l.sequence(f, name, depth)
	case "parallel":
		agent = l.parallel(f, name, depth)
	case "loop":
		agent = l.loop(f, name, depth)
	default:
		l.fail(f.at("kind"), "use agent, graph, swarm, sequence, parallel or loop", "there is no kind %q", kind)
	}
	f.end()
	if l.err != nil {
		return nil, nil
	}
	if l.made[name] != nil {
		l.fail(f.at("name"), "rename one of them", "the file defines two agents called %q", name)
		return nil, nil
	}
	if err := agent.Err(); err != nil {
		l.err = at(f.at("name"), err)
		return nil, nil
	}
	if kind != "agent" && l.names.Parts != nil {
		agent.Use(l.names.Parts(nil, nil)...)
	}
	l.made[name], l.done[n] = agent, true
	return agent, graph
}
