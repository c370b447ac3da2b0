// Package claude runs the Claude Agent SDK's program, `claude`, and speaks its protocol: one JSON object a line in each
// direction. It imports the standard library and package event only, and is useful without the rest of Braid.
//
//	for m, err := range claude.Query(ctx, "What is in this folder?", claude.AllowTools("Read", "Glob")) {
//		if err != nil {
//			return err
//		}
//		if a, ok := m.(*claude.Assistant); ok {
//			fmt.Print(a.Text())
//		}
//	}
//
// [Query] runs one prompt in a process of its own. [Open] returns a [Client], which keeps one process for many turns and
// sends control requests: [Client.Interrupt], [Client.SetModel], [Client.SetPermissionMode], [Client.ContextUsage].
//
// The program asks back while a turn runs: [CanUseTool] answers its permission prompts, [OnHook] its hooks, and [InProcess]
// serves it tools of this program. Each question is answered on a goroutine of its own, so these functions are called
// concurrently. A panic in one is a refusal for the program, not the end of yours.
//
// Operators install the program; this package neither contains nor downloads it. [Find] looks for it and
// [Program.Version] asks for its version, to be compared with [TestedVersion].
//
// # Secrets
//
// The command line of a process can be read by every user of the machine. System prompts, agents, MCP servers, settings and
// schemas therefore go through standard input. [Env] passes credentials. The program inherits only the variables that it
// needs: see [CleanEnv].
//
// # The end of a process
//
// On Linux the program is the first process of its own PID namespace where the kernel permits that (for root, or with user
// namespaces). The kernel then ends the whole tree, including shells that have left its session, at [Client.Close], at a
// cancelled context, and if your program is killed. Elsewhere on Linux, Close ends all processes that carry the program's
// mark in their environment; if your program is killed, the kernel sends SIGTERM to the program, which ends its shells. On
// other systems Close ends the process group; if your program is killed, the program reads the end of its input and ends
// after its turn.
package claude
