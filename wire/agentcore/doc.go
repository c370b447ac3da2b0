// Package agentcore encodes and reads the stream of Amazon Bedrock AgentCore as Strands agents
// send it (seed 1).
//
// An [Encoder] writes a run as such a stream. A [Reader] reads server-sent events, one JSON value
// per line, or a recorded JSON array, and returns [Item] values. Unreadable input is an item too,
// with an [Anomaly]; it does not stop the reader. A [Summary] adds up the items of a stream. It
// counts a text once although a stream repeats it up to three times (in pieces, in copies of the
// pieces, in the complete message), and each tool call once by its toolUseId.
//
// The package does no input or output of its own and knows no store.
package agentcore
