package drive

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/internal/toolset"
)

// finish ends a scope. Every open call gets a result in the same commit. A child gives its result to its parent, and
// the root ends the run.
func (d *driver) finish(s *fold.Scope, cmd decide.Command) {
	open := s.Batch.Calls != nil
	d.endOpenSteps(s)
	if open {
		d.callAfterTools(s, d.agentIn(s))
	}
	if err := d.closingWords(s, &cmd); err != nil {
		d.failWith(err) // the next round ends the scope with it
		return
	}
	for i := range cmd.Notices {
		n := cmd.Notices[i]
		n.Text = validText(n.Text)
		d.add(s, "", 0, &n)
	}
	if cmd.Escalate {
		d.add(s, "", 0, &event.Escalated{})
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
	ended.Files, ended.MoreFiles = r.Files()
	ended.Agents = r.Agents()
	switch cmd.Why {
	case event.WhyFailed:
		ended.Status = event.RunFailed
	case event.WhyCancelled, event.WhyDeadline:
		ended.Status = event.RunCancelled
		ended.Partial = event.TextOf(d.partial)
	}
	if x := d.answerOf(s); x != nil && ended.Status == event.RunCompleted && ended.Err == nil && cmd.Why != event.WhyDirectCall {
		var problem error
		if ended.Output, problem = x.Given(s, d.ctx.Done()); problem != nil {
			ended.Err = output.Missing(problem)
		}
	}
	if answered(ended.Status == event.RunCompleted && ended.Err == nil, cmd.Why) && !d.callAfterAgent(s, lastWords(s, &cmd), ended.Output) {
		return
	}
	if d.cfg.agent.Hooks != nil && d.callAfterRun(s, ended) {
		return
	}
	if d.stopTasks(s) {
		ended.Usage = r.Usage
		ended.Models, ended.CostNanoUSD, ended.Estimated = r.Bill()
		ended.Agents = r.Agents()
	}
	ended.Keep = ended.Status == event.RunFailed && r.Worked() && !d.cfg.agent.Forgets && !d.cfg.work.ForgetFailed
	d.err = ended.Err
	d.add(s, "", 0, ended)
}

// closingWords writes an answer that no model gave: that of a flow, the result of a tool that returns directly, or a
// note about a direct call. Guardrails check it as any answer; the error is a guardrail's.
func (d *activeRun) closingWords(s *fold.Scope, cmd *decide.Command) error {
	if len(cmd.Output) > 0 {
		if s.Fresh == "" && len(s.Answer.Words) > 0 && (s.Batch.Done == nil || event.TextOf(s.Answer.Words) == event.TextOf(cmd.Output)) {
			return nil // the log has it, and ends before the scope did
		}
		passed, by, err := d.filterBlocks(d.guardsOf(d.agentIn(s), guardrail.Output), slices.Clone(cmd.Output))
		if err == nil {
			d.add(s, "", 0, &event.AssistantMessage{Content: passed, Stop: cmd.Stop})
			d.record(s, "", 0, by)
		}
		return err
	}
	text := ""
	switch cmd.Why {
	case event.WhyReturned:
		r := s.Batch.Answer
		if text = event.TextOf(r.Content); text == "" {
			text = string(r.Structured)
		}
	case event.WhyDirectCall:
		text = "[" + toolset.List(lastTools(s)) + " was called by the program itself.]"
	}
	if text == "" {
		return nil
	}
	passed, by, err := d.filterText(d.guardsOf(d.agentIn(s), guardrail.Output), text)
	if err != nil {
		return err
	}
	d.add(s, "", 0, &event.AssistantMessage{Content: []event.Block{&event.Text{Text: orRedacted(passed)}}, Stop: event.StopEndTurn})
	d.record(s, "", 0, by)
	return nil
}

// lastTools names the tools of the scope's last results.
func lastTools(s *fold.Scope) (names []string) {
	if n := len(s.Transcript.Messages); n > 0 {
		for _, b := range s.Transcript.Messages[n-1].Content {
			if r, ok := b.(*event.ToolResult); ok {
				names = append(names, strconv.Quote(r.Name))
			}
		}
	}
	return names
}

// lastWords is what the scope's agent said last; nil where it ended with results of tools.
func lastWords(s *fold.Scope, cmd *decide.Command) []event.Block {
	if len(cmd.Output) > 0 {
		return s.Answer.Words // not what the agent said before it
	}
	if n := len(s.Transcript.Messages); n > 0 && s.Transcript.Messages[n-1].Role == event.RoleAssistant {
		return s.Transcript.Messages[n-1].Content
	}
	if text := event.TextOf(s.Answer.Words); cmd.Why == event.WhyMaxTokens && text != "" {
		return []event.Block{&event.Text{Text: text}} // its calls have results
	}
	return nil
}

// answered reports whether an agent that ended well or not has answered: the program's own calls are none.
func answered(well bool, why event.Why) bool { return well && why != event.WhyDirectCall }

// closeScope ends a child and its parent's call in one commit.
func (d *activeRun) closeScope(s *fold.Scope, cmd decide.Command) {
	last, typed := lastWords(s, &cmd), false
	var given json.RawMessage
	if x := d.answerOf(s); x != nil && cmd.Err == nil {
		raw, problem := x.Given(s, d.ctx.Done())
		if problem != nil {
			cmd.Err = output.Missing(problem)
		} else {
			last, typed = []event.Block{&event.Text{Text: string(raw)}}, true
		}
	}
	closed := &event.ScopeClosed{ID: s.ID, Output: last, Stop: cmd.Stop, Why: cmd.Why, Err: cmd.Err}
	if s.Task != nil {
		closed.Models = s.Own()
	}
	by := d.filterClosing(s, closed, typed)
	if typed && closed.Err == nil {
		given = json.RawMessage(event.RawText(closed.Output))
	}
	if answered(closed.Err == nil, cmd.Why) && !d.callAfterAgent(s, closed.Output, given) {
		return
	}
	d.add(s, "", 0, closed)
	d.record(s, "", 0, by)
	d.leave(s)
	d.answerCall(s)
}

// answerCall gives the call that opened a closed scope its result. It depends on the log alone: if the log ends
// between the two, the next driver writes the same.
func (d *activeRun) answerCall(s *fold.Scope) {
	c, end := s.Opener, s.Closed
	if c == nil || c.State == fold.CallEnded {
		return
	}
	r, outcome := &event.ToolResult{Call: c.ID, Name: c.Name}, event.OutcomeDone
	text := event.TextOf(end.Output)
	if d.answerOf(s) != nil {
		text = event.RawText(end.Output) // it is JSON
	}
	if text != "" {
		r.Content = append(r.Content, &event.Text{Text: text})
		if d.answerOf(s) != nil && end.Err == nil {
			r.Structured = json.RawMessage(text)
		}
	}
	if end.Err != nil {
		r.IsError = true
		text := "Error: agent " + strconv.Quote(s.Agent) + ": " + end.Err.Message + "."
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
	w := newToolWork(s.Parent, d.agentIn(s.Parent), c, c.Attempt)
	d.callFor(w.call, s.Parent, c, max(c.Attempt, 1))
	w.end.skip, w.end.made, w.end.outcome, w.end.failure = skipAgent, r, outcome, end.Err
	d.endUnrun(&w.Work)
}

// stopTasks cancels the agents that still work in the background when the run ends: their steps get the grace period to stop. It
// reports whether there were any.
func (d *driver) stopTasks(root *fold.Scope) bool {
	if !root.Background.Works() {
		return false
	}
	d.stop()
	d.phase = phaseStopping
	d.settleAfterStop()
	scopes := d.view.Run.Scopes
	for i := len(scopes) - 1; i > 0; i-- {
		if s := scopes[i]; s.Closed == nil {
			d.finish(s, decide.Command{Do: decide.Finish, Why: event.WhyCancelled, Stop: event.StopCancelled, Err: &event.Error{
				Kind: event.ErrCancelled, Message: "the run ended before this agent", Err: context.Canceled,
			}})
		}
	}
	return true
}
