// Package fold turns the events of a conversation into what others decide from and show. It has three folds:
//
//   - [Conversation] is for who drives the newest run: its scopes with their transcripts, open calls, counters, questions
//     and state. The same events give the same fold, whoever folds them and in how many steps.
//   - [Outline] is for who shows a run: the agents at work and the steps that they run. It keeps no transcript, and it may
//     begin in the middle of a run.
//   - [Draft] is what a step in flight has said so far, from its live events.
package fold
