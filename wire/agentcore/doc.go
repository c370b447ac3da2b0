// Package agentcore is the stream of Amazon Bedrock AgentCore as Strands agents fill it
// (seed 1): our events as its frames, and whatever such a server sends, read.
//
// A [Reader] takes server-sent events, one JSON value on a line, or a recorded JSON
// array, and gives an [Item] for each thing that is said. It never stops at what it
// cannot read: that is an item too, with the name of the [Anomaly]. A [Summary] adds
// the items of a stream up: the text once, though a stream says it up to three times
// (in pieces, in the pieces' copies, in the whole message), and each tool once, by its
// toolUseId.
//
// Neither does any input or output of its own, or knows a store.
package agentcore
