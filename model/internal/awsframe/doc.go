// Package awsframe reads and writes messages of AWS's binary event stream, in which Bedrock streams
// its responses (smithy.io, "Amazon Event Stream Specification"): a length, the length of the
// headers and a checksum of the two; headers; a payload; a checksum of all.
//
// The SDK's decoder allocates for each message. [Reader] uses one buffer for the whole response.
package awsframe
