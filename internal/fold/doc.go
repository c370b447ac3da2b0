// Package fold turns the log of a conversation into what others decide from and show.
//
// [Conversation] is the whole fold, for who drives the newest run: its scopes with their transcripts, open calls, counters,
// questions and state. It is pure: the same events give the same fold, whoever folds them and in how many steps.
package fold
