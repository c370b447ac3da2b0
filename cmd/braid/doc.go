// Command braid runs AI agents from a shell.
//
//	braid run "What is 6 times 7?"    one run: the answer as it comes
//	braid chat                        a conversation
//	braid doctor                      what is set up, what is broken, what to do
//	braid help                        everything else
//
// The way through the code: [main] makes a process, which finds the command
// and reads its flags; config.go puts flags, environment and file into one
// settings value; agent.go makes the agent; run.go and chat.go drive it; the
// printers show its events; exit.go turns an error into a message and an exit code.
package main
