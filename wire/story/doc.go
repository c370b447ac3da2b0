// Package story tells what a wire needs to know of an event: which agent it is about, which step and which call, the whole
// answer where it came in pieces, whether it ends the run. A [Story] folds the events of a conversation with internal/fold,
// so that an encoder folds nothing itself.
//
// A stream has one story, and one encoder that reads it. Both are used by one goroutine at a time.
package story
