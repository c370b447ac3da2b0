// Package floor is the agent loop that one would write by hand, without a
// framework: what Braid is measured against.
//
// It does the work that a user would miss if it were not done, and nothing
// else: events with a time and a number, finished ones kept in a session and
// all of them handed to a reader; a model's chunks put together into a message;
// tools that decode their arguments from JSON and run side by side, with their
// results in the order of the calls; a history that is shared with the model
// and not copied. It has no retries, limits, cancellation of a stuck tool,
// crash safety, scopes or validation.
//
// It is written plainly and not tuned: an event is a pointer, as in the event
// types of the frameworks that people compare, and each of several tool calls
// is a goroutine. [Agent.Values] shows what the tuned form of the streaming part costs.
package floor
