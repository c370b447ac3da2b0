package fold

import (
	"cmp"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// stoppedNote stands behind the prompt of a run that the user stopped before its first answer: the next
// run's model must not answer it besides the next prompt.
const stoppedNote = "[The user stopped this request before it was answered. Do not answer it unless a later message asks for it.]"

// failureNote tells the next run what a failed one did to the world. The
// failed run's own words are left out; its effects, and the state and the
// artifacts that it left, cannot be.
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

// failedNote stands behind what a failed run leaves to later ones.
const failedNote = "[The previous request failed before it was answered. Its messages and the results of its tools are kept above.]"

// doubtNote tells the next run of calls that were made for one that failed or was cancelled, in agents
// that were stopped before they heard what became of them.
func doubtNote(doubts []effect, ended string) string {
	var sb strings.Builder
	sb.WriteString("[The previous request " + ended + ". Agents that worked for it had called tools:")
	listEffects(&sb, doubts)
	sb.WriteString("]")
	return sb.String()
}

// listEffects says of each call how it ended, in the order in which they were asked for:
// which of two that ran at once ended first is nothing that a model should see.
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

// compareSteps orders steps as they were asked for: their numbers count as numbers, and a
// call stands before those of the agent that it is.
func compareSteps(a, b string) int {
	for a != "" && b != "" {
		n, m := leadingNumber(a), leadingNumber(b)
		if n > 0 && m > 0 {
			if c := cmp.Or(cmp.Compare(n, m), strings.Compare(a[:n], b[:m])); c != 0 {
				return c
			}
			a, b = a[n:], b[m:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// leadingNumber counts the digits that s begins with.
func leadingNumber(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
