// Package wire is the seam between the server and the protocols that its clients speak. A wire is an [Encoder] for one
// protocol and what reads that protocol's requests. The packages below this one are the wires.
//
// docs/guide/add-a-wire.md describes how to add one.
package wire

import "github.com/braidrun/braid/event"

// Encoder writes the events of one conversation, or of one run of it, in the form of a protocol. server/stream gives it
// the events in their order and sends the bytes. An Encoder keeps what its protocol needs and an event does not say.
// It writes nothing itself, has no clock and is used by one goroutine at a time.
//
// The methods that take dst append to it and return the result. They may append nothing.
type Encoder interface {
	// Append appends an event. An encoder of one run passes over the events of all others.
	Append(dst []byte, e *event.Event) []byte
	// AppendSnapshot appends what stands for the live events of a step in flight that the reader missed.
	AppendSnapshot(dst []byte, s *event.Snapshot) []byte
	// AppendNotice appends why nothing comes of the run for now. code is a word for programs.
	AppendNotice(dst []byte, code, message string) []byte
	// Skip takes in an event that the reader has already, from a stream before this one.
	Skip(e *event.Event)
	// Idle appends what keeps a connection open while there is nothing to send.
	Idle(dst []byte) []byte
	// Fail appends the last bytes of a stream that ends before its run does. [event.ErrUnauthenticated] means that the
	// reader's credential has ended, [event.ErrNotFound] that the conversation was deleted. For any other error the
	// run goes on, and the reader may come again.
	Fail(dst []byte, err error) []byte
	// Done reports whether the stream is over: its run has ended, or Fail was called. An encoder of all runs is over
	// only by Fail.
	Done() bool
}
