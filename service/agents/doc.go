// Package agents makes the agents of a server's runs. It combines what a run asks for, what its
// tenant allows, and the server's models, tools, MCP servers, skills and files.
//
// A [Factory] completes a [service.Service]: its methods Agent, Models, OpenModel, Workspace,
// Forget and ForgetTenant are the fields of the same names in [service.Options]. All agents of a
// factory share its options. A directory of tenants decides which of them an agent gets.
package agents
