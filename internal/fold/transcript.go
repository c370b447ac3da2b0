package fold

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// Transcript is what the model sees of a scope: messages that alternate
// between user and assistant, begin with user, and pair every call with its
// result. It only ever grows at its end, and what has been handed out is never
// changed, so that requests share it instead of copying it.
type Transcript struct {
	Messages []event.Message
	// Units say of a transcript that is traced where its messages come from; see [Unit].
	Units  []Unit
	Traced bool
	// Setups are what its answers were given under.
	Setups setups
}

// branch gives a transcript that begins with this one and grows by itself:
// appending to it never writes into memory that this one shares.
func (t *Transcript) branch() Transcript {
	// The capacity is kept on purpose: past and the open run's root grow one
	// after the other, never both (rewind cuts the capacity).
	return Transcript{Messages: t.Messages, Units: t.Units, Traced: t.Traced, Setups: t.Setups}
}

// rewind forgets what a failed run appended behind t: the capacity goes too,
// because a straggler may still read what lies there.
func (t *Transcript) rewind() {
	t.Messages, t.Units = slices.Clip(t.Messages), slices.Clip(t.Units)
}

// user appends what a person said. Two user turns in a row become one, because
// providers refuse them apart.
func (t *Transcript) user(content []event.Block) {
	if len(content) == 0 {
		return
	}
	if n := len(t.Messages); n > 0 && t.Messages[n-1].Role == event.RoleUser {
		t.replaceLast(joinBlocks(t.Messages[n-1].Content, content))
		return
	} else if n > 0 {
		// The turn is not continued.
		if last := t.Messages[n-1].Content; HasVendorBlocks(last) {
			t.replaceLast(CloseOpenCalls(last, "was not finished"))
		}
	}
	t.Messages = append(t.Messages, event.Message{Role: event.RoleUser, Content: content})
}

// assistant appends an answer without calls. An empty one is left out: no
// provider takes it back.
func (t *Transcript) assistant(content []event.Block) {
	if len(content) == 0 {
		return
	}
	if HasVendorBlocks(content) {
		content = t.withoutLoose(content)
	}
	n := len(t.Messages)
	switch {
	case n == 0:
		// A transcript that begins with an answer (its question was compacted
		// or failed) is refused by providers.
		t.Messages = append(t.Messages, event.Message{Role: event.RoleUser, Content: Beginning})
	case t.Messages[n-1].Role == event.RoleAssistant:
		t.replaceLast(joinBlocks(t.Messages[n-1].Content, content))
		return
	}
	t.Messages = append(t.Messages, event.Message{Role: event.RoleAssistant, Content: content})
}

// pair appends an answer with calls and its results, together.
func (t *Transcript) pair(answer, results []event.Block) {
	t.assistant(answer)
	t.Messages = append(t.Messages, event.Message{Role: event.RoleUser, Content: results})
}

// replaceLast puts another last message in place of the last one without
// touching the array that others may read.
func (t *Transcript) replaceLast(content []event.Block) {
	n := len(t.Messages) - 1
	role := t.Messages[n].Role
	t.Messages = append(t.Messages[:n:n], event.Message{Role: role, Content: content})
}

// Shared is the transcript as a request sees it: nobody can append to it.
func (t *Transcript) Shared() []event.Message {
	return slices.Clip(t.Messages)
}

// swap puts other content in place of what was appended as own, as long as it stands
// there alone and in a row. What was handed out before stays as it is. It
// reports whether it was found.
func (t *Transcript) swap(own, other []event.Block) bool {
	for i, m := range slices.Backward(t.Messages) {
		at := slices.Index(m.Content, own[0])
		if at < 0 || m.Role != event.RoleUser || len(m.Content) < at+len(own) || !slices.Equal(m.Content[at:at+len(own)], own) {
			continue
		}
		t.Messages = slices.Clone(t.Messages)
		t.Messages[i].Content = joinBlocks(joinBlocks(m.Content[:at], other), m.Content[at+len(own):])
		t.swapUnit(own, other)
		return true
	}
	return false
}

var Beginning = []event.Block{&event.Text{Text: "[The conversation goes on from here.]"}}

func joinBlocks(a, b []event.Block) []event.Block {
	joined := make([]event.Block, 0, len(a)+len(b))
	return append(append(joined, a...), b...)
}

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

// Hidden says which events the transcript does not show as they are.
type Hidden struct {
	ranges   []Range
	Redacted map[int64][]event.Block
}

// Range is one compaction: the events of one scope that its summary
// stands for, but for those that are kept. The summary is shown where the first of
// them stood. One that cuts hides nothing but a part of what tools gave.
type Range struct {
	Scope    string
	From, To int64
	keep     []int64
	cut      bool
	summary  []event.Block
	shown    bool
}

// holds reports whether the event is one of those that the compaction is about.
func (r *Range) holds(e *event.Event) bool {
	return r.Scope == e.Scope && e.Seq >= r.From && e.Seq <= r.To
}

func (h *Hidden) Note(e *event.Event) {
	switch b := e.Body.(type) {
	case *event.Compacted:
		h.ranges = append(h.ranges, Range{
			Scope: e.Scope, From: b.From, To: b.To, keep: b.Keep, cut: b.Cut, summary: b.Summary, shown: b.Cut,
		})
	case *event.Redacted:
		if b.Clean {
			return
		}
		if h.Redacted == nil {
			h.Redacted = make(map[int64][]event.Block)
		}
		h.Redacted[b.Target] = shownInstead(b)
	}
}

// Settle puts the compactions in order, for a log whose session began with the event
// begin: those of earlier sessions are dropped, and so are summaries of stretches
// that a later compaction covers as a whole, because its own stands for them. The
// others are shown in the order in which their stretches begin. The event that
// only says that the session begins counts for nothing.
func (h *Hidden) Settle(begin int64) {
	for i := range h.ranges {
		if a := &h.ranges[i]; a.Scope == "" {
			a.From = max(a.From, begin+1)
		}
	}
	h.ranges = slices.DeleteFunc(h.ranges, func(r Range) bool { return r.From > r.To })
	for i := range h.ranges {
		a := &h.ranges[i]
		for _, b := range h.ranges[i+1:] {
			if !b.cut && a.Scope == b.Scope && b.From <= a.From && b.To >= a.To {
				a.shown, a.summary = true, nil
			}
		}
	}
	h.prune()
	slices.SortStableFunc(h.ranges, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
}

// prune drops the compactions that a later one leaves nothing to say: a conversation may have
// had many, and each event is held against all that are left.
func (h *Hidden) prune() {
	n := 0
	for i, a := range h.ranges {
		if !slices.ContainsFunc(h.ranges[i+1:], func(b Range) bool {
			return a.Scope == b.Scope && b.From <= a.From && b.To >= a.To && (a.cut || !b.cut) &&
				!slices.ContainsFunc(b.keep, func(seq int64) bool { return seq >= a.From && seq <= a.To })
		}) {
			h.ranges[n] = a
			n++
		}
	}
	h.ranges = h.ranges[:n]
}

// has reports whether the event is compacted away.
func (h *Hidden) has(e *event.Event) bool {
	for i := range h.ranges {
		if r := &h.ranges[i]; !r.cut && r.holds(e) && !slices.Contains(r.keep, e.Seq) {
			return true
		}
	}
	return false
}

// cuts reports whether only a part is shown of what a tool gave in the event.
func (h *Hidden) cuts(e *event.Event) bool {
	for i := range h.ranges {
		if r := &h.ranges[i]; r.cut && r.holds(e) {
			return true
		}
	}
	return false
}

// summaries gives the summaries that are to be shown before the event, each once.
func (h *Hidden) summaries(e *event.Event, show func([]event.Block)) {
	for i := range h.ranges {
		if r := &h.ranges[i]; !r.shown && r.holds(e) {
			r.shown = true
			show(r.summary)
		}
	}
}

// content is what the event's content looks like: its own, or what replaced it.
func (h *Hidden) content(e *event.Event, own []event.Block) []event.Block {
	if r, ok := h.Redacted[e.Seq]; ok {
		return r
	}
	return own
}

// callContent is content for an answer with calls: redacted, it keeps the calls
// without their arguments, because their results follow.
func (h *Hidden) callContent(e *event.Event, own []event.Block) []event.Block {
	repl, ok := h.Redacted[e.Seq]
	if !ok {
		return own
	}
	blocks := joinBlocks(repl, nil)
	for _, c := range event.CallsOf(own) {
		blocks = append(blocks, &event.ToolCall{ID: c.ID, Name: c.Name, Args: json.RawMessage("{}")})
	}
	return blocks
}
