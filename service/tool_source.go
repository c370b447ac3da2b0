package service

import "github.com/braidrun/braid"

// These are the sources of tools in the tool log. A tool of an MCP server has "mcp:" and the
// server's name.
const (
	sourceBuiltin = "builtin"
	sourceAgent   = "agent"
	sourceMCP     = "mcp:"
)

// sourceIn returns the source of a tool of root or of one of its sub-agents. It returns "" if there
// is no such tool. root may be nil.
func sourceIn(root *braid.Agent, agent, tool string) string {
	a := member(root, agent, 0)
	if a == nil {
		return ""
	}
	for _, t := range a.Tools() {
		if t.Spec().Name == tool {
			return sourceOf(t)
		}
	}
	return ""
}

// sourceOf returns a tool's source. A tool from elsewhere has a method Source, or Server.
func sourceOf(t braid.Tool) string {
	switch t := t.(type) {
	case agentTool:
		return sourceAgent
	case interface{ Source() string }:
		return t.Source()
	case interface{ Server() string }:
		return sourceMCP + t.Server()
	default:
		return sourceBuiltin
	}
}

// agentTool is a tool that is an agent, as [braid.AsTool] makes it.
type agentTool interface{ Agent() *braid.Agent }

// taskTool is a tool whose calls name one of several agents.
type taskTool interface{ Agents() []*braid.Agent }

// deepest bounds the search among agents that call each other.
const deepest = 8

// member finds an agent by name in a tree of agents.
func member(a *braid.Agent, name string, depth int) *braid.Agent {
	if a == nil || a.Name() == name {
		return a
	}
	if depth == deepest {
		return nil
	}
	for _, t := range a.Tools() {
		var below []*braid.Agent
		switch t := t.(type) {
		case agentTool:
			below = []*braid.Agent{t.Agent()}
		case taskTool:
			below = t.Agents()
		}
		for _, child := range below {
			if found := member(child, name, depth+1); found != nil {
				return found
			}
		}
	}
	return nil
}
