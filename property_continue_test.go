package braid

import (
	"fmt"
	"slices"

	"github.com/braidrun/braid/event"
)

// continued continues the log's last run where it can be, twice: by the same plan, which may fail again, and by one
// that says the last word. Each continuing run names the one before, repeats none of its finished steps, and comes to
// the same end wherever it is cut.
func (c *testCase) continued(log []*event.Event, run string) error {
	conv, err := cutLog(log, append(slices.Clone(c.inputs), c.inputsOf(log)...))
	if err != nil {
		return fmt.Errorf("the store does not take the log: %w", err)
	}
	calm := *c.plan.main
	calm.cancel = noCancel
	for _, plan := range []*runPlan{&calm, {agents: []*agentPlan{{name: "root", last: lastText}}}} {
		retryable, err := conv.Retryable(deadlineless)
		if err != nil || retryable == "" {
			return err
		}
		if retryable != run {
			return fmt.Errorf("%s can be continued, and %s is the newest", retryable, run)
		}
		before := stepsAt(log, run)
		w := c.world()
		result, err := w.play(deadlineless, conv, plan, "")
		log = conv.logged()
		fail := func(format string, args ...any) error {
			return fmt.Errorf(format+"\n%s", append(args, showLog(log))...)
		}
		if err := c.settled("the continuing run", conv, result, err); err != nil {
			return fail("%w", err)
		}
		begun := log[firstOf(log, result.Run)].Body.(*event.RunStarted)
		if begun.Continues != "" && begun.Continues != run || begun.Continues == "" && failedRun(log, run) {
			return fail("%s says that it continues %q, want %s", result.Run, begun.Continues, run)
		}
		if begun.Continues != "" {
			for name, s := range stepsAt(log, result.Run) {
				if old := before[name]; old != nil && old.ended && s.begun && s.scope == "" && (old.kind == event.StepTool || !failedStep(log, run, name)) {
					return fail("step %s had ended in %s and begins again in %s", name, run, result.Run)
				}
			}
			first := firstOf(log, result.Run) + 1
			if n := first + c.plan.cuts[0]*(len(log)-first)/256; n < len(log) && plan == &calm {
				if _, err := c.resume(log[:n], result, log); err != nil {
					return fmt.Errorf("cut after event %d: %w", n, err)
				}
			}
		}
		c.retried++
		run = result.Run
	}
	return nil
}

// failedRun reports whether a run failed after it had begun to work.
func failedRun(log []*event.Event, run string) bool {
	return slices.ContainsFunc(log, func(e *event.Event) bool {
		b, ok := e.Body.(*event.RunEnded)
		return ok && e.Run == run && b.Status == event.RunFailed
	})
}

// failedStep reports whether a model step of a run gave no answer.
func failedStep(log []*event.Event, run, step string) bool {
	return !slices.ContainsFunc(log, func(e *event.Event) bool {
		b, ok := e.Body.(*event.AssistantMessage)
		return ok && e.Run == run && e.Step == step && !b.Piece
	})
}
