// Command braid runs AI agents from a shell.
//
//	braid run "What is 6 times 7?"    one run: the answer as it comes
//	braid chat                        a conversation; --continue goes on with one
//	braid conversations               what is kept
//	braid show                        what happened in one, step by step
//	braid doctor                      what is set up, what is broken, what to do
//	braid help                        everything else
//
// The way through the code: [main] makes a process, which finds the command
// and reads its flags; config.go puts flags, environment and file into one
// settings value; keep.go finds the place that the conversation is kept in; agent.go
// makes the agent; run.go and chat.go drive it, goon.go what was left open; the
// printers show its events; conversations.go and show.go look into what is kept;
// exit.go turns an error into a message and an exit code.
package main
