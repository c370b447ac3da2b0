package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// timeline shows a log from its outside: every event on a line with its number and
// time, so that one can see what the loop did and why. Unlike a [story] it
// leaves nothing out but the ends of long texts.
type timeline struct {
	out     *output
	look    look
	tools   numbers
	outline fold.Outline[struct{}, struct{}]
	// asks are the questions by their token.
	asks map[string]*event.Asked
	// hidden are the redactions by the event that they hide.
	hidden map[int64]*event.Redacted
	// session is the one of the last run.
	session int
	// zone is that of the times shown.
	zone *time.Location
}

func newTimeline(out *output, l look) *timeline {
	return &timeline{
		out: out, look: l, tools: numbers{}, asks: map[string]*event.Asked{}, hidden: map[int64]*event.Redacted{}, session: 1, zone: time.Local,
	}
}

// How much of a text is shown, in lines.
const (
	saidLines   = 8
	resultLines = 3
)

// title says which conversation it is.
func (t *timeline) title(c *journal.Summary) {
	t.out.buf = t.look.paint(t.out.buf, bold, "conversation "+cleanLine(c.ID))
	t.out.buf = fmt.Appendf(t.out.buf, "  turns=%d events=%d", c.Turns, c.Last)
	for _, label := range []struct{ name, text string }{{"user", c.User}, {"tenant", c.Tenant}} {
		if label.text != "" {
			t.out.buf = append(t.out.buf, " "+label.name+"="+cleanLine(label.text)...)
		}
	}
	t.out.buf = append(t.out.buf, '\n')
}

// event implements [teller].
func (t *timeline) event(e *event.Event) error {
	if r := t.hidden[e.Seq]; r != nil {
		e = r.Cover(e)
	}
	at := t.outline.Add(e)
	switch b := e.Body.(type) {
	case *event.RunStarted:
		t.runStarted(e, b)
	case *event.RunEnded:
		t.runEnded(e, b)
	case *event.UserMessage:
		who := "you"
		if e.Author != event.UserAuthor {
			who = e.Author
		}
		if b.Mail != "" {
			who += ", during the run"
		}
		t.said(e, who, plain, contentText(b.Content), saidLines)
	case *event.AssistantMessage:
		t.assistant(e, b)
	case *event.StepBegun:
		t.stepBegun(e, b)
	case *event.StepEnded:
		t.stepEnded(e, b, at.Step)
	case *event.Asked:
		t.asked(e, b)
	case *event.Answered:
		t.answered(e, b)
	default:
		t.other(e)
	}
	return nil
}

func (t *timeline) runStarted(e *event.Event, b *event.RunStarted) {
	t.out.startLine()
	t.out.buf = append(t.out.buf, '\n')
	t.out.buf = t.look.paint(t.out.buf, bold, fmt.Sprintf("turn %d", b.Turn))
	words := []string{"  " + e.Time.In(t.zone).Format("2006-01-02 15:04:05 MST"), "agent=" + cleanLine(b.Agent)}
	if b.Model != "" {
		words = append(words, "model="+cleanLine(b.Model))
	}
	if e.Simulated {
		words = append(words, "simulated")
	}
	if b.Executor != "" {
		words = append(words, "executor="+cleanLine(b.Executor))
	}
	t.out.buf = append(t.out.buf, strings.Join(words, " ")...)
	t.out.buf = append(t.out.buf, '\n')
	t.line(e, dim, "[run] began run=%s", cleanLine(e.Run))
	if b.Session > t.session {
		t.session = b.Session
		t.line(e, dim, "[run] a new session: the model sees nothing of what was said before")
	}
}

func (t *timeline) runEnded(e *event.Event, b *event.RunEnded) {
	st := green
	switch b.Status {
	case event.RunFailed:
		st = boldRed
	case event.RunCancelled:
		st = yellow
	}
	t.line(e, st, "%s", traceLine(e, t.tools.of))
	if len(b.Models) > 1 {
		for _, m := range b.Models {
			t.line(e, dim, "[run] model=%s %s cost_usd=%s", cleanLine(m.Model), usageWords(m.Usage), costWord(m.CostNanoUSD))
		}
	}
	t.line(e, dim, "[run] cost_usd=%s", costWord(b.CostNanoUSD))
	t.failure(e, b.Err)
}

func (t *timeline) assistant(e *event.Event, b *event.AssistantMessage) {
	who := e.Author
	if who == "" {
		who = agentName
	}
	for _, block := range b.Content {
		switch c := block.(type) {
		case *event.Thinking:
			if t.look.thinking {
				t.said(e, "thinking", dim, c.Text, resultLines)
			}
		case *event.Text:
			t.said(e, who, plain, c.Text, saidLines)
		case *event.ToolCall:
			words := fmt.Sprintf("%s calls tool=#%d:%s", t.cycle(e), t.tools.of(c.ID), cleanLine(c.Name))
			t.line(e, plain, "%s", fit(strings.Join(append([]string{words}, argumentLines(c)...), "  "), longestLine))
		default:
			t.said(e, who, dim, contentText([]event.Block{c}), resultLines)
		}
	}
	if line := traceLine(e, t.tools.of); line != "" && e.Step != "" {
		t.line(e, cyan, "%s", line)
	}
}

func (t *timeline) stepBegun(e *event.Event, b *event.StepBegun) {
	if b.Step != event.StepTool {
		t.line(e, cyan, "%s", traceLine(e, t.tools.of))
		return
	}
	effect, n := effectOf(b), t.tools.of(b.Call)
	words := fmt.Sprintf("%s tool=#%d:%s began effect=%s", t.cycle(e), n, cleanLine(b.Tool), cleanLine(string(effect)))
	if e.Attempt > 1 {
		words += fmt.Sprintf(" attempt=%d", e.Attempt)
	}
	if b.Reconcile {
		words += " reconcile=true"
	}
	t.line(e, plain, "%s", words)
}

// effectOf is what counts as the effect of a tool call.
func effectOf(b *event.StepBegun) event.Effect { return cmp.Or(b.Effect, event.EffectUnsafe) }

// doubtWords stand where nobody knows what a tool has done.
const doubtWords = "IN DOUBT: it may or may not have happened"

func (t *timeline) stepEnded(e *event.Event, b *event.StepEnded, step *fold.Step[struct{}, struct{}]) {
	words := t.cycle(e) + " " + stepWords(e, b, t.tools.of)
	if b.Step != event.StepTool {
		t.line(e, yellow, "%s", words)
		t.failure(e, b.Err)
		return
	}
	if b.Result != nil && step != nil {
		words = strings.Replace(words, " outcome=", " effect="+cleanLine(string(effectOf(step.Begun)))+" outcome=", 1)
	}
	text, failed := resultText(b)
	switch {
	case b.Outcome == event.OutcomeInDoubt:
		t.line(e, boldRed, "%s", words)
		t.line(e, boldRed, "  %s", doubtWords)
		return
	case failed:
		t.line(e, red, "%s", words)
	default:
		t.line(e, plain, "%s", words)
	}
	t.text(e, dim, "  ", text, resultLines)
}

func (t *timeline) asked(e *event.Event, b *event.Asked) {
	t.asks[b.Token] = b
	t.line(e, yellow, "%s", traceLine(e, t.tools.of))
	t.text(e, yellow, "  asks: ", b.Prompt, resultLines)
	if !b.Expires.IsZero() {
		t.line(e, dim, "  closes at %s", b.Expires.In(t.zone).Format(time.DateTime))
	}
}

func (t *timeline) answered(e *event.Event, b *event.Answered) {
	words, value := "[run] answered", cleanLine(string(b.Value))
	if q := t.asks[b.Token]; q != nil {
		words += fmt.Sprintf(" tool=#%d:%s", t.tools.of(q.Call), cleanLine(q.Tool))
		if q.Ask == event.AskCredential {
			value = "[hidden]"
		}
	}
	if b.By != "" {
		words += " by=" + cleanLine(b.By)
	}
	t.line(e, yellow, "%s", fit(words+": "+value, longestLine))
}

// other shows what happens seldom.
func (t *timeline) other(e *event.Event) {
	switch b := e.Body.(type) {
	case *event.ScopeOpened:
		t.line(e, plain, "[scope %s] opened agent=%s for=#%d", cleanLine(b.ID), cleanLine(b.Agent), t.tools.of(b.Call))
		t.text(e, dim, "  ", contentText(b.Input), resultLines)
	case *event.ScopeClosed:
		t.line(e, plain, "%s", traceLine(e, t.tools.of))
		t.failure(e, b.Err)
	case *event.StateChanged:
		names := make([]string, 0, len(b.Set))
		for name := range b.Set {
			names = append(names, cleanLine(name))
		}
		slices.Sort(names)
		words := ""
		if len(names) > 0 {
			words += " set=" + strings.Join(names, ",")
		}
		if len(b.Delete) > 0 {
			words += " deleted=" + cleanLine(strings.Join(b.Delete, ","))
		}
		t.line(e, dim, "[state]%s", words)
	case *event.ArtifactSaved:
		t.line(e, plain, "[artifact] saved name=%s version=%d bytes=%d", cleanLine(b.Name), b.Version, b.Size)
	case *event.Transferred:
		t.line(e, plain, "%s agent %s takes over", t.cycle(e), cleanLine(b.To))
	case *event.Escalated:
		t.line(e, plain, "%s the agent stops here: %s", t.cycle(e), fit(cleanLine(b.Reason), longestLine))
	case *event.Fault:
		t.failure(e, b.Err)
	case *event.Notice:
		t.line(e, dim, "[notice] %s %s", cleanLine(b.Code), fit(oneLine(clean(b.Text)), longestLine))
	case *event.Compacted:
		words := "are now a summary for the model"
		if b.Cut {
			words = "show the model less of what tools gave"
		}
		t.line(e, dim, "[log] events %d to %d %s", b.From, b.To, words)
		t.text(e, dim, "  ", contentText(b.Summary), resultLines)
	case *event.Redacted:
		words := "is redacted"
		if b.Clean {
			words = "was written without what a guardrail took out"
		}
		t.line(e, yellow, "[log] event %d %s: %s", b.Target, words, cleanLine(b.Reason))
	default:
		t.line(e, dim, "[%s] this version does not know it; --json shows it", cleanLine(string(e.Body.Kind())))
	}
}

// stands says how the open run stands that the log ends with.
func (t *timeline) stands(run *journal.Run, pid int, working bool) {
	var words string
	goOn := "braid chat --continue " + cleanLine(shortID(run.Conversation))
	switch {
	case run.Status == event.RunWaiting && !working:
		words = "the run waits for an answer: " + goOn + " asks again"
	case run.Status == event.RunWaiting:
		words = fmt.Sprintf("the run waits for an answer in process %d", pid)
	case working:
		words = fmt.Sprintf("the run is open; process %d has the data folder", pid)
	default:
		words = "the run was interrupted and nobody works on it: " + goOn + " takes it to its end"
	}
	t.out.startLine()
	t.out.buf = append(t.look.paint(append(t.out.buf, '\n'), yellow, words), '\n')
}

// failure tells what went wrong, and what to do.
func (t *timeline) failure(e *event.Event, err *event.Error) {
	if err == nil {
		return
	}
	message, hint := describe(err)
	t.text(e, red, "  error: ", message, resultLines)
	if hint != "" {
		t.text(e, dim, "  next: ", hint, resultLines)
	}
}

// cycle says where in the loop an event stands.
func (t *timeline) cycle(e *event.Event) string {
	if e.Scope != "" {
		return fmt.Sprintf("[%s cycle %d]", cleanLine(e.Author), e.Cycle)
	}
	return fmt.Sprintf("[cycle %d]", e.Cycle)
}

// said shows what somebody said.
func (t *timeline) said(e *event.Event, who string, st style, text string, most int) {
	if strings.TrimSpace(text) != "" {
		t.text(e, st, cleanLine(who)+": ", text, most)
	}
}

// text shows foreign text behind a title: at most so many lines, each as far as the
// screen is wide, the rest counted.
func (t *timeline) text(e *event.Event, st style, title, text string, most int) {
	lines := strings.Split(strings.TrimSpace(clean(text)), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return
	}
	rest := len(lines) - most
	if rest > 1 {
		lines = lines[:most]
	}
	room := t.room(e)
	for _, line := range lines {
		t.line(e, st, "%s", fit(title+strings.ReplaceAll(line, "\t", " "), room))
		title = strings.Repeat(" ", textWidth(title))
	}
	if rest > 1 {
		t.line(e, dim, "%s… %d more lines", title, rest)
	}
}

// line writes what happened behind the event's number and time. What is wider than
// the screen goes on below.
func (t *timeline) line(e *event.Event, st style, format string, args ...any) {
	t.out.startLine()
	text := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	lines := []string{text}
	if room := t.room(e); textWidth(text) > room {
		lines = wrap(text, room-2)
	}
	for i, line := range lines {
		if i > 0 {
			line = "  " + line
		}
		head := t.head(e)
		if line == "" {
			head = strings.TrimRight(head, " ")
		}
		t.out.buf = t.look.paint(t.look.paint(t.out.buf, dim, head), st, fit(line, t.room(e)))
		t.out.buf = append(t.out.buf, '\n')
	}
}

// head is the event's number and time, and the depth of its scope.
func (t *timeline) head(e *event.Event) string {
	depth := 0
	if in := t.outline.Thread(e.Scope); in != nil && e.Scope != "" {
		depth = min(max(in.Depth, 1), 8)
	}
	indent := strings.Repeat("  ", depth)
	return fmt.Sprintf("%5d %s  %s", e.Seq, e.Time.In(t.zone).Format("15:04:05.000"), indent)
}

// longestLine bounds a line in a pipe, in columns.
const longestLine = 200

// room is how many columns are left behind the head.
func (t *timeline) room(e *event.Event) int {
	if !t.look.terminal {
		return longestLine
	}
	return max(t.look.width-len(t.head(e)), 20)
}

// shortID is the beginning of an ID, enough to name it nearly always.
func shortID(id string) string { return id[:min(len(id), shortIDLength)] }

// shortIDLength is how much of an ID is shown where a person reads it.
const shortIDLength = 8
