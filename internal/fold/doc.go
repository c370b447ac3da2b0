// Package fold turns the events of a conversation into states for decisions and for display. It has three folds:
//
//   - [Conversation] is for drivers of the newest run: its scopes with their transcripts, open calls, counters, questions
//     and state. The same events always give the same fold, in however many steps they are folded.
//   - [Outline] is for views of a run: the agents at work and the steps that they run. It keeps no transcript, and it may
//     begin in the middle of a run.
//   - [Draft] is the output so far of a step in flight, from its live events.
//
// A file uses files of its own layer and of those below it:
//
//   - Data: unit.go, transcript.go and trace.go (what a model sees), scope.go with call.go and batch.go (a thread of work),
//     run.go, conversation.go, hidden.go, ask.go, state.go and the figures (gauge.go, repeats.go, setups.go, compaction.go), and older.go
//     (the messages that a stored fold left in the store).
//   - What an event does to them: message.go, step.go and settle.go, questions.go, scope_events.go, run_events.go, bill.go,
//     shorten.go, redacted.go, apply_setup.go, continued.go, notes.go.
//   - add.go is the switch over the kinds of events, and tail.go folds a log with it. stored.go, with the forms in
//     stored_head.go and stored_part.go, keeps a fold and goes on from it.
package fold
