package braid

import (
	"encoding/json"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// finish ends a scope: every call that is still open gets a result in the same
// commit, a child gives its parent the result, and the root ends the run.
func (d *driver) finish(s *fold.Scope, cmd command) {
	open := s.Batch != nil
	d.closeSteps(s)
	if open {
		d.tellBatch(s, d.agentIn(s))
	}
	if err := d.closingWords(s, cmd.Why); err != nil {
		d.broke(err) // the next round ends the scope with it
		return
	}
	if s.Depth > 0 {
		d.closeScope(s, cmd)
		return
	}
	r := d.view.Run
	ended := &event.RunEnded{
		Status: event.RunCompleted, Stop: cmd.Stop, Why: cmd.Why, Err: cmd.Err,
		Usage: r.Usage, Cycles: r.Metrics.Cycles, Duration: d.now.Sub(r.Started),
	}
	ended.Models, ended.CostNanoUSD, ended.Estimated = r.Bill()
	switch cmd.Why {
	case event.WhyFailed:
		ended.Status = event.RunFailed
	case event.WhyCancelled, event.WhyDeadline:
		ended.Status = event.RunCancelled
		ended.Partial = event.TextOf(d.partial)
	}
	if x := d.answerOf(s); x != nil && ended.Status == event.RunCompleted && ended.Err == nil && cmd.Why != event.WhyDirectCall {
		var problem error
		if ended.Output, problem = x.given(s, d.ctx.Done()); problem != nil {
			ended.Err = wanting(problem)
		}
	}
	if d.agent.hooks != nil && d.tellEnded(s, ended) {
		return
	}
	ended.Keep = ended.Status == event.RunFailed && r.Worked() && !d.agent.forgets && !d.work.ForgetFailed
	d.err = ended.Err
	d.add(s, "", 0, ended)
}

// closingWords writes the answer that no model gave: the result of a tool that returns
// directly, or a note that the program itself has called one. Guardrails look at it as at any answer;
// the error is that of one that could not.
func (d *driver) closingWords(s *fold.Scope, why event.Why) error {
	text := ""
	switch why {
	case event.WhyReturned:
		r := s.Answer
		if text = event.TextOf(r.Content); text == "" {
			text = string(r.Structured)
		}
	case event.WhyDirectCall:
		text = "[" + list(lastTools(s)) + " was called by the program itself.]"
	}
	if text == "" {
		return nil
	}
	passed, by, err := d.siftText(d.guardsOf(d.agentIn(s), GuardOutput), text)
	if err != nil {
		return err
	}
	d.add(s, "", 0, &event.AssistantMessage{Content: []event.Block{&event.Text{Text: orRedacted(passed)}}, Stop: event.StopEndTurn})
	d.record(s, "", 0, by)
	return nil
}

// lastTools names the tools whose results the scope has last.
func lastTools(s *fold.Scope) (names []string) {
	if n := len(s.Transcript.Messages); n > 0 {
		for _, b := range s.Transcript.Messages[n-1].Content {
			if r, ok := b.(*event.ToolResult); ok {
				names = append(names, quote(r.Name))
			}
		}
	}
	return names
}

// closeSteps ends what the scope still has open.
func (d *driver) closeSteps(s *fold.Scope) {
	for _, c := range slices.Clone(s.Batch) {
		if c.State == fold.CallEnded {
			continue
		}
		outcome, text := event.OutcomeCancelled, "The tool call was cancelled before it gave a result."
		if c.State == fold.CallNew {
			text = "The tool call was cancelled and never begun."
		}
		attempt := c.Attempt
		if !c.Extra().RetryAt.IsZero() {
			text, attempt = "The tool call failed, and was cancelled before it was made again.", 0 // that attempt has ended
		}
		if w := d.flight(c.Step); w != nil {
			outcome = event.OutcomeStraggler
			text = "The tool " + quote(c.Name) + " did not stop when it was cancelled and was left behind; " +
				"it may still have an effect."
			d.leave(w)
		}
		d.add(s, c.Step, attempt, &event.StepEnded{
			Step: event.StepTool, Outcome: outcome, Result: &event.ToolResult{
				Call: c.ID, Name: c.Name, IsError: true, Content: []event.Block{&event.Text{Text: text}},
			},
		})
	}
	if s.Compaction().State == fold.ModelBegun {
		outcome, left := event.OutcomeCancelled, event.Usage{}
		if w := d.flight(s.Compaction().Step); w != nil {
			outcome, left = event.OutcomeStraggler, w.left
			d.leave(w)
		}
		d.add(s, s.Compaction().Step, s.Compaction().Attempt, d.lostSummary(s, left).ended(event.StepCompaction, outcome))
	}
	if s.Model.State == fold.ModelBegun {
		w := d.flight(s.Model.Step)
		left := event.Usage{}
		if w != nil {
			left = w.left
		}
		ended := d.lostCharge(s, s.Model.Name, left).ended(event.StepModel, event.OutcomeCancelled)
		ended.UsageUnknown = left == event.Usage{}
		if w != nil {
			ended.Outcome, ended.Err = event.OutcomeStraggler, leftBehind(s.Model.Name)
			ended.Duration = d.now.Sub(w.begun)
			d.leave(w)
		}
		d.add(s, s.Model.Step, s.Model.Attempt, ended)
	}
}

// leftBehind says of a model call that it is a straggler.
func leftBehind(model string) *event.Error {
	return &event.Error{
		Op: "model " + model, Kind: event.ErrCancelled, Message: "the model did not stop when it was cancelled and was left behind",
	}
}

// closeScope ends a child and its parent's call in one commit.
func (d *driver) closeScope(s *fold.Scope, cmd command) {
	output, typed := []event.Block(nil), false
	if n := len(s.Transcript.Messages); n > 0 && s.Transcript.Messages[n-1].Role == event.RoleAssistant {
		output = s.Transcript.Messages[n-1].Content
	}
	if x := d.answerOf(s); x != nil && cmd.Err == nil {
		raw, problem := x.given(s, d.ctx.Done())
		if problem != nil {
			cmd.Err = wanting(problem)
		} else {
			output, typed = []event.Block{&event.Text{Text: string(raw)}}, true
		}
	}
	closed := &event.ScopeClosed{ID: s.ID, Output: output, Stop: cmd.Stop, Why: cmd.Why, Err: cmd.Err}
	by := d.siftClosing(s, closed, typed)
	d.add(s, "", 0, closed)
	d.record(s, "", 0, by)
	d.answerCall(s)
}

// answerCall gives the call that opened a scope, now closed, its result. It is a
// function of the log: where the log ends between the two, as one that was copied
// in part may, the next driver writes the same.
func (d *driver) answerCall(s *fold.Scope) {
	c, end := s.Opener, s.Closed
	if c == nil || c.State == fold.CallEnded {
		return
	}
	r := &event.ToolResult{Call: c.ID, Name: c.Name}
	if text := event.TextOf(end.Output); text != "" {
		r.Content = append(r.Content, &event.Text{Text: text})
		if d.answerOf(s) != nil && end.Err == nil {
			r.Structured = json.RawMessage(text)
		}
	}
	outcome := event.OutcomeDone
	if end.Err != nil {
		r.IsError = true
		text := "Error: agent " + quote(s.Agent) + ": " + end.Err.Message + "."
		if len(r.Content) > 0 {
			text = "\n\n" + text // who joins the blocks must see where the answer was cut
		}
		r.Content = append(r.Content, &event.Text{Text: text})
		if end.Why == event.WhyCancelled || end.Why == event.WhyDeadline {
			outcome = event.OutcomeCancelled
		}
	}
	if len(r.Content) == 0 {
		r.Content = []event.Block{&event.Text{Text: "The agent gave no answer."}}
	}
	ended := &event.StepEnded{Step: event.StepTool, Outcome: outcome, Result: r, Err: end.Err}
	if bad := fit(&Call{Name: c.Name}, d.agentIn(s.Parent).limits.ResultBytes, r); bad != nil {
		ended.Err = bad
	}
	by := d.tellRefused(s.Parent, c, ended)
	if o := d.agentIn(s.Parent).offload; o != nil {
		ended.Shown = o.shown(d.view.Last+1, nil, ended.Result)
	}
	d.add(s.Parent, c.Step, c.Attempt, ended)
	d.record(s.Parent, c.Step, c.Attempt, by)
}
