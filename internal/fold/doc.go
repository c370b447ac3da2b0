// Package fold turns the events of a conversation into states for decisions and for display. It has three folds:
//
//   - [Conversation] is for drivers of the newest run: its scopes with their transcripts, open calls, counters, questions
//     and state. The same events always give the same fold, in however many steps they are folded.
//   - [Outline] is for views of a run: the agents at work and the steps that they run. It keeps no transcript, and it may
//     begin in the middle of a run.
//   - [Draft] is the output so far of a step in flight, from its live events.
package fold
