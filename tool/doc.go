// Package tool is the seam to tools: what a tool is, how to make one from a Go function, and what a running call can ask
// of the run that it belongs to.
//
// [Func] makes a tool from a function. [Option]s such as [Pure] and [Timeout] say what the run may do with its calls.
// Inside a tool, the context is the running [Call]: [CallOf] returns it, and [Ask], [State], [Progress], [EndTurn] and
// [SecretOf] take it. Each of them asks the call's [Host], which is the agent loop in a run. A test can call a tool without
// the loop: [NewCall] makes a call with a host of its own.
//
// A [Source] offers a list of tools with instructions, such as servers of tools. An agent leaves out an [Optional] tool that
// it cannot have.
//
// The package imports package event and nothing of the loop, so a package of tools compiles without it.
package tool
