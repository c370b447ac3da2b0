// Package agents makes the agents of a server's runs: of what a run asks for, what its tenant allows, and what the
// server has of models, tools, MCP servers, skills and files.
//
// A [Factory] is what a [service.Service] lacks: its methods Agent, Models, OpenModel, Workspace, Forget and ForgetTenant
// are the fields of the same names in [service.Options]. All agents of a factory share what it was made with; a
// directory of tenants says which of it an agent gets.
package agents
