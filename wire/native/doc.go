// Package native is Braid's own wire: a conversation's events as the frames that
// the execution service sends (seed 4), and back.
//
// An [Encoder] turns each event into server-sent events: what its name is, is in
// [Frame]'s types, and what its id means in [Cursor]. It does no input or output
// and knows no store. [Decode] reads a frame, and [Screen] applies frames by the
// rules below: what a client shows.
//
// # The frames
//
// The seed's are init, text_delta, thinking, tool_use, tool_progress, tool_result,
// question, title, result and error. Ours stand beside them, and a client that
// knows only the seed's passes over them: message, user_message, snapshot, retry,
// answered, redacted, notice. More will come: what a reader does not know it skips.
//
// A run begins with init and ends with exactly one terminal frame, which is its
// last: error where the run failed, otherwise result, which also says what there
// is of a run that was cancelled or reached a limit or the end of its time.
//
// # What stands for what
//
//   - text_delta and thinking add to a step's text. They are of an attempt: when
//     one of a higher attempt comes, the text of the one before is void.
//   - snapshot replaces all that was shown of its step's attempt. Later
//     deltas add to it, unless it is truncated: then none follow, and the
//     message has everything.
//   - message replaces them too: it is the whole answer, and the step is over. With
//     piece set it is the beginning of the answer: what was shown stays where
//     it begins so. When a log is read again, it is all that is left of the deltas.
//   - retry makes its attempt's text void; another attempt follows, with a model on that
//     model.
//   - redacted takes back what the frames of the event target said: its text is shown
//     instead, and a log that is read again has nothing else.
//   - with the terminal frame, the text of every step that has no message is void.
//   - tool_progress replaces the progress of its call before.
//
// # Ids
//
// A frame's id is a [Cursor]: a reader that was cut off sends the last id it has,
// and is given what comes after. One durable event may give several frames. Only
// the last of them has an id, so that a cut between them brings all of them
// again: a reader that acts on a frame holds it until an id has come.
//
// # What is not sent
//
// Events that are for the operator; the words of internal errors; the value of an
// answer, which may be a credential; metadata whose key begins with "braid.".
package native
