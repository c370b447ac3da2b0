package service

import "github.com/braidrun/braid"

// Where tools come from, as the tool log says it. What an MCP server offers is "mcp:" and the
// server's name.
const (
	sourceBuiltin = "builtin"
	sourceAgent   = "agent"
	sourceMCP     = "mcp:"
)

// source says where a tool of an agent comes from that is the driven one or works for it;
// "" where there is no such tool.
func (h *warmth) source(agent, tool string) string {
	root := h.agent.Load()
	if root == nil {
		return ""
	}
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

// sourceOf asks a tool: one that comes from elsewhere says so itself, by its Source, or by the
// Server that it is of.
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

// agentTool is a tool that is an agent, as [braid.AsTool] makes them.
type agentTool interface{ Agent() *braid.Agent }

// deepest bounds the search among agents that call each other.
const deepest = 8

// member finds an agent by its name among those that work for one.
func member(a *braid.Agent, name string, depth int) *braid.Agent {
	if a == nil || a.Name() == name {
		return a
	}
	if depth == deepest {
		return nil
	}
	for _, t := range a.Tools() {
		if child, ok := t.(agentTool); ok {
			if found := member(child.Agent(), name, depth+1); found != nil {
				return found
			}
		}
	}
	return nil
}
