// Package wire is the seam between the server and the protocols that its clients speak. A [Wire] writes what the story of a
// conversation tells in the form of one protocol. The packages below this one are the wires.
//
// docs/guide/add-a-wire.md describes how to add one.
package wire

import "github.com/braidrun/braid/wire/story"

// Wire is a protocol.
type Wire struct {
	// Name stands in logs and tests, such as "native".
	Name string
	// ContentType is that of a stream over HTTP.
	ContentType string
	// Open makes an encoder for one stream. A wire with settings of its own has a type for its encoders beside it.
	Open func(Start) Encoder
}

// Start is what an encoder knows before the first event.
type Start struct {
	// Conversation is the id of the conversation.
	Conversation string
	// Run is the only run that the stream shows; empty for all runs.
	Run string
}

// Encoder writes one stream in the form of a protocol. It is given the items of a story in their order; a [Feed] does that.
// An Encoder keeps only what its protocol counts. It writes nothing itself, has no clock and is used by one goroutine at a
// time.
//
// The methods that take dst append to it and return the result. They may append nothing.
type Encoder interface {
	// Append appends what an item tells: an event, or a snapshot for a reader that missed live events.
	Append(dst []byte, it *story.Item) []byte
	// Skip takes in an item that the reader has already, from a stream before this one.
	Skip(it *story.Item)
	// AppendNotice appends why nothing comes of the run for now. code is a word for programs.
	AppendNotice(dst []byte, code, message string) []byte
	// Idle appends what keeps a connection open while there is nothing to send.
	Idle(dst []byte) []byte
	// Fail appends the last bytes of a stream that ends before its run does. [event.ErrUnauthenticated] means that the
	// reader's credential has ended, [event.ErrNotFound] that the conversation was deleted. For any other error the
	// run goes on, and the reader may come again.
	Fail(dst []byte, err error) []byte
}
