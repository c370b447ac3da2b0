package fold

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// stoppedNote follows the prompt of a run that the user stopped before its first answer. Without it, the next run's
// model would answer both prompts.
const stoppedNote = "[The user stopped this request before it was answered. Do not answer it unless a later message asks for it.]"

// interruptedNote follows what a run has done when the user stopped it between two answers.
const interruptedNote = "[The user interrupted this request. Do not go on with it unless a later message asks for it.]"

// interruptedAnswerNote follows the part of an answer that had arrived when the user stopped it.
const interruptedAnswerNote = "[The user interrupted this answer. Do not go on with it unless a later message asks for it.]"

// cutAnswerNote follows the part of an answer that had arrived when the run's time was over.
const cutAnswerNote = "[This answer was cut off, because the time of the request was over.]"

// outOfTime adds to the transcript the part of an answer that the user has seen of a run whose time was over.
func (v *Conversation) outOfTime(b *event.RunEnded, seq int64) {
	if _, redacted := v.Hidden.Redacted[seq]; b.Partial != "" && !redacted {
		v.Past.pairPartial(b.Partial, cutAnswerNote, seq)
	}
}

// interrupted adds to the transcript what a run that the user stopped leaves unfinished: the part of an answer that the
// user has seen, and a note. Without them, the next run's model would go on with the request or repeat it.
func (v *Conversation) interrupted(root *Scope, b *event.RunEnded, seq int64) {
	_, redacted := v.Hidden.Redacted[seq]
	switch {
	case b.Partial != "" && !redacted:
		v.Past.pairPartial(b.Partial, interruptedAnswerNote, seq)
	case root.Newest.Seq == 0:
	case !root.Answer.spoke:
		v.Past.note(stoppedNote, seq)
	case root.Fresh != "" && !root.Batch.Direct && !root.Batch.cut():
		v.Past.note(interruptedNote, seq)
	}
}

// cut reports whether a result of the last calls says that the call was cut short.
func (b *Batch) cut() bool {
	return slices.ContainsFunc(b.last, func(c *Call) bool { return c.sum == 0 })
}

// failureNote returns a note for the next run about a failed run's effects. The failed run's messages are left out,
// but its effects, state changes and artifacts remain.
func failureNote(r *Run) string {
	if len(r.Effects) == 0 && r.left == nil {
		return ""
	}
	var sb strings.Builder
	sb.WriteString("[The previous request failed and is not part of this conversation. Its tool calls may have had effects:")
	listEffects(&sb, r.Effects)
	names := func(what string, names []string) {
		if len(names) > 0 {
			slices.Sort(names)
			sb.WriteString("\n- ")
			sb.WriteString(what)
			sb.WriteString(strings.Join(slices.Compact(names), ", "))
		}
	}
	if r.left != nil {
		names("state that was changed and stays so: ", r.left.changed)
		names("artifacts that were saved and are kept: ", r.left.saved)
	}
	sb.WriteString("]")
	return sb.String()
}

// failedNote follows the messages that a failed run keeps for later runs.
const failedNote = "[The previous request failed before it was answered. Its messages and the results of its tools are kept above.]"

// doubtNote returns a note for the next run about uncertain tool calls of sub-agents. A failed or cancelled run
// stopped these agents before they saw the outcome.
func doubtNote(doubts []effect, ended string) string {
	var sb strings.Builder
	sb.WriteString("[The previous request " + ended + ". Agents that worked for it had called tools:")
	listEffects(&sb, doubts)
	sb.WriteString("]")
	return sb.String()
}

// listEffects writes how each call ended, in the order of the requests. The order in which concurrent calls ended must
// not show, because it would vary.
func listEffects(sb *strings.Builder, effects []effect) {
	effects = slices.Clone(effects)
	slices.SortStableFunc(effects, func(a, b effect) int { return compareSteps(a.Step, b.Step) })
	for i := range effects {
		e := effects[i].Ended
		sb.WriteString("\n- ")
		sb.WriteString(e.Result.Name)
		sb.WriteString(" (call ")
		sb.WriteString(e.Result.Call)
		sb.WriteString("): ")
		switch {
		case e.Outcome == event.OutcomeInDoubt:
			sb.WriteString("in doubt, it may or may not have happened")
		case e.Outcome == event.OutcomeStraggler:
			sb.WriteString("was left behind unfinished, it may or may not happen")
		case e.Result.IsError:
			sb.WriteString("finished with an error")
		default:
			sb.WriteString("finished")
		}
	}
}
