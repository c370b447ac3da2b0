// Package arm64peer holds the program that goes into AgentCore's container: what the
// Dockerfile builds and starts, on an emulated processor. The tests are built with the tag
// "peers"; test/peers/arm64 runs them.
package arm64peer
