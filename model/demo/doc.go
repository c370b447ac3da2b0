// Package demo is a model that follows a script. It needs no key and no network, costs nothing,
// and identifies itself as simulated everywhere. Only its answers are scripted; the loop and
// the tools that it calls are real.
//
// It has three uses:
//
//   - the first run of a new user: [Load]("assistant") and [Load]("tour");
//   - a test double: a [Script] written in Go, or a function ([Answer]), with faults
//     ([Faults]) for certain cycles and attempts;
//   - a load generator: [Pace] sets the time to the first byte and the rate.
//
// A script is a list of rules in a YAML file. The first matching rule answers a request.
// docs/guide/demo-scripts.md describes the format.
//
// A model has no state. The rule depends only on the request: its messages, tools, cycle and
// attempt. So the same request always gets the same answer, and a run that is resumed in
// another process continues in the same way. The ids of tool calls are derived from run, scope
// and cycle.
//
// The model ignores [model.Options].
package demo
