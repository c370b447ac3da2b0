// Package drive runs the runs of agents: it takes a run's lease, folds the log, carries out what package decide decides,
// and commits what comes of it.
//
// Begin with loop.go: [driver.iterate] is the loop. One goroutine at a time decides, commits and sends; steps run
// beside it, or take the driving along (shift.go). A driver has parts with one task each:
//
//   - run.go takes a run from its admission to its lease, and handle.go is what the drives of one process share of a
//     conversation.
//   - run_config.go is what a drive is given, lease.go its lease, inbox.go what others leave for the run, pending.go the
//     commit that is being prepared, executor.go the steps that run, sender.go the events to the reader, and phase.go how
//     far the drive has come.
//   - begin.go begins steps and end.go ends them. stages.go is the ordered list of what a tool call passes between.
//   - runner.go is the interface of what runs steps: this process's models and tools (model_call.go, step.go), or a
//     foreign program that works on a scope by itself (program.go).
//   - give_up.go and unread.go end runs that nobody can drive.
//
// The files with the name of a part of an agent (guard.go, permit.go, compaction.go, offload.go, tool_search.go, output.go,
// secrets.go, fallback.go, the hook files) do at a run what that part promises. The root package documents the parts, fills
// an [Agent] with their settings, and hands it over with a [Request]. Nothing here is used by programs directly, and this
// package does not import the root.
package drive
