// Package strandspeer holds the loop against that of @strands-agents/sdk, which comes from
// npm: both are given the same turns of a model, over the wire of Amazon Bedrock, and what
// they send back in each call, their history and why they stop are compared. The
// differences that there are stand, with their reasons, in docs/strands-differences.md, and
// the test fails for any other, and for one that is gone. It runs with the tag peers, by
// scripts/test-peers strands.
package strandspeer
