// Package frozen opens the journals that earlier versions left behind. Each file in
// testdata is a data folder as a version of Braid left it when it was killed,
// with runs in every state: queued, in the middle of a model call and of tools of
// every effect, waiting for an answer, for a time and inside a child, in doubt,
// with mail unread, and over. The tests open a copy with the code of today and
// drive every run: each goes on, or ends with a named error, also where a tool
// or the agent that it needs is gone.
//
// A release adds its own, once, and never changes what is there:
//
//	go test ./test/frozen -run TestWrite -write v0.2
//
// and then a line in the table versions, with the runs that the file holds. A
// state that is new gets a line in the table of runs first.
package frozen
