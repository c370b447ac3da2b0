// Package demo is a model that follows a script. It needs no key and no
// network, costs nothing, and says on every surface that it is simulated:
// only its words are canned, the loop and the tools that it drives are real.
//
// The same engine has three uses:
//
//   - the first run of a newcomer: [Load]("assistant") and [Load]("tour");
//   - a test double: a [Script] written in Go, or a function ([Answer]), with
//     faults ([Faults]) chosen by cycle and attempt;
//   - a load generator: [Pace] sets the time to the first byte and the rate.
//
// A script is a list of rules in a YAML file; the first rule that fits a
// request answers it. The format is told in docs/guide/demo-scripts.md.
//
// A model here keeps no state. Which rule fits is decided from the request
// alone (its messages, tools, cycle and attempt), so the same request always
// gets the same answer and a run that is resumed elsewhere goes on as it would
// have gone on here. The tool call ids that it makes are derived from run,
// scope and cycle.
//
// It does not follow [model.Options]: a script says what it says.
package demo
