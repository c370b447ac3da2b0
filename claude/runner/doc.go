// Package runner lets the Claude Agent SDK's program work as a Braid agent:
//
//	coder := runner.New("coder", runner.Options{Dir: "."})
//	result, err := coder.Run(ctx, "Rename the package.")
//	fmt.Println(result.Text(), err)
//
// The program calls the models and runs its own tools. Braid's loop decides, commits and watches: each model call and each
// tool call of the program is a step in the log. A tool waits in the program until its beginning is in the log, and the next
// model call until the results are. So hooks, permissions, guardrails, limits, questions, streams and logs of Braid hold for
// the program as for any agent.
//
// A tool that is given to the agent with [braid.Tools] runs in this process. The program gets it through an MCP server of its
// own, with the result that the log has.
//
// The agents of [Options] are sub-agents. A call of the program's tool Task opens a scope, and the scope's model calls have
// the usage of the sub-agent's own messages.
//
// # Sessions
//
// The log is the session. A run starts the program with a transcript made from the log, in folders of its own, and the folders
// go with the process. So a conversation continues in any process and folder, and resets, forks and redactions hold. A run
// whose driver died continues from its log: a tool that was in flight is in doubt, as its effect says.
//
// An approval that comes after the program has ended (see [Options.Idle]) cannot reach the call: the call gets an error, and
// the model may call the tool again.
//
// # Limits
//
// The agent must be the first one of its run, not one that another agent calls. Guardrails on results of the program's own
// tools change what the log has, and not what the program has read.
package runner
