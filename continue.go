package braid

// How a run takes over the work of one that failed: [Agent.Resume] admits a run without input that names the
// failed one, and its first step is what failed. The failed run and its end stay in the log as they are.

// ForgetFailed makes conversations forget the messages of the agent's failed runs: later runs see only a note
// of what their tools did. Without it they see whole messages and results, and a note that the run failed.
// A failed run can be continued with [Agent.Resume] either way. Each run's end records which it was.
func ForgetFailed() Part {
	return partFunc(func(a *Agent) error {
		a.set.Forgets = true
		return nil
	})
}
