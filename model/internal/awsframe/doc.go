// Package awsframe reads and writes the messages of AWS's binary event stream, in
// which Bedrock streams its answers (smithy.io, "Amazon Event Stream
// Specification"): a length, the length of the headers and a checksum of the two;
// headers; a payload; a checksum of all.
//
// The SDK's own decoder allocates for each message; [Reader] reads in one buffer
// that is used for the whole answer.
package awsframe
