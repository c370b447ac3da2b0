// Package drive runs the runs of agents: it takes a run's lease, folds the log, carries out what package decide decides,
// and commits what comes of it.
//
// Begin with loop.go: [driver.iterate] is the loop. One goroutine at a time decides, commits and sends; steps run
// beside it, or take the driving along (shift.go). There are three layers. A file uses files of its own layer and of those
// below it:
//
//   - Data: settings.go and agent.go (what the root fills in), run_config.go (what one drive is given), work.go, step.go
//     and tool_work.go (steps), tool_result.go and step_result.go (how steps end), pending.go (the commit that is being
//     prepared), baton.go, thread.go, phase.go, sender.go and lease.go.
//   - [activeRun]: the run without what executes it. Its methods do what the parts of an agent promise, and write events.
//     stages.go is the ordered list of what a tool call passes; end.go ends steps; run_start.go begins a run or goes on
//     with it.
//   - [driver]: it begins steps (begin.go), runs them (executor.go, runner.go, shift.go, model_call.go), takes
//     them in (settle.go), reads the inbox, commits and decides. Only this layer can begin, wait for or stop a step.
//
// Above them, run.go takes a run from its admission to its lease, and handle.go is what the drives of one process share of
// a conversation. give_up.go and unread.go end runs that nobody can drive.
//
// The files with the name of a part of an agent (guard.go, permit.go, compaction.go, offload.go, tool_search.go, output.go,
// secrets.go, fallback.go, the hook files) do at a run what that part promises. The root package documents the parts, fills
// an [Agent] with their settings, and hands it over with a [Request]. Nothing here is used by programs directly, and this
// package does not import the root.
package drive
