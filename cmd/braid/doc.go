// Command braid runs AI agents from a shell.
//
//	braid run "What is 6 times 7?"    one run: the answer as it comes
//	braid chat                        a conversation; --continue goes on with one
//	braid conversations               what is kept
//	braid show                        what happened in one, step by step
//	braid doctor                      what is set up, what is broken, what to do
//	braid help                        everything else
//
// Where to find what: main.go makes the process and finds the command; internal/conf
// reads flags, environment and file into one configuration; store.go opens the
// conversation's store; agent.go makes the agent; run.go and chat.go run it, resume.go
// finishes interrupted runs; internal/printer prints the events; conversations.go and
// show.go read what is kept; internal/term turns an error into a message, and its kind
// into an exit code.
package main
