package printer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// Timeline prints a log for debugging: every event on a line with its number and time. Unlike a
// [Transcript] it omits nothing except the ends of long texts.
type Timeline struct {
	out     *term.Output
	look    Look
	tools   numbers
	outline fold.Outline[struct{}, struct{}]
	// Hidden holds the redactions by the number of the redacted event.
	Hidden map[int64]*event.Redacted
	// session is the session of the last run.
	session int
	// zone is the time zone of printed times.
	zone *time.Location
}

// NewTimeline returns a Timeline that writes to out.
func NewTimeline(out *term.Output, l Look) *Timeline {
	return &Timeline{
		out: out, look: l, tools: numbers{}, Hidden: map[int64]*event.Redacted{}, session: 1, zone: time.Local,
	}
}

// The maximum of lines of a text.
const (
	saidLines   = 8
	resultLines = 3
)

// Title prints the name of the conversation.
func (t *Timeline) Title(c *journal.Summary) {
	t.out.Buf = t.look.Paint(t.out.Buf, term.Bold, "conversation "+term.CleanLine(c.ID))
	t.out.Buf = fmt.Appendf(t.out.Buf, "  turns=%d events=%d", c.Turns, c.Last)
	for _, label := range []struct{ name, text string }{{"user", c.User}, {"tenant", c.Tenant}} {
		if label.text != "" {
			t.out.Buf = append(t.out.Buf, " "+label.name+"="+term.CleanLine(label.text)...)
		}
	}
	t.out.Buf = append(t.out.Buf, '\n')
}

// Event prints one event. It returns errors of the output.
func (t *Timeline) Event(e *event.Event) error {
	if r := t.Hidden[e.Seq]; r != nil {
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
		t.said(e, who, term.Plain, ContentText(b.Content), saidLines)
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

func (t *Timeline) runStarted(e *event.Event, b *event.RunStarted) {
	t.out.StartLine()
	t.out.Buf = append(t.out.Buf, '\n')
	t.out.Buf = t.look.Paint(t.out.Buf, term.Bold, fmt.Sprintf("turn %d", b.Turn))
	words := []string{"  " + e.Time.In(t.zone).Format("2006-01-02 15:04:05 MST"), "agent=" + term.CleanLine(b.Agent)}
	if b.Model != "" {
		words = append(words, "model="+term.CleanLine(b.Model))
	}
	if e.Simulated {
		words = append(words, "simulated")
	}
	if b.Executor != "" {
		words = append(words, "executor="+term.CleanLine(b.Executor))
	}
	t.out.Buf = append(t.out.Buf, strings.Join(words, " ")...)
	t.out.Buf = append(t.out.Buf, '\n')
	t.line(e, term.Dim, "[run] began run=%s", term.CleanLine(e.Run))
	if b.Session > t.session {
		t.session = b.Session
		t.line(e, term.Dim, "[run] a new session: the model sees nothing of what was said before")
	}
}

func (t *Timeline) runEnded(e *event.Event, b *event.RunEnded) {
	st := term.Green
	switch b.Status {
	case event.RunFailed:
		st = term.BoldRed
	case event.RunCancelled:
		st = term.Yellow
	}
	t.line(e, st, "%s", traceLine(e, t.tools.of))
	if len(b.Models) > 1 {
		for _, m := range b.Models {
			t.line(e, term.Dim, "[run] model=%s %s cost_usd=%s", term.CleanLine(m.Model), UsageWords(m.Usage), costWord(m.CostNanoUSD))
		}
	}
	t.line(e, term.Dim, "[run] cost_usd=%s", costWord(b.CostNanoUSD))
	t.failure(e, b.Err)
}

func (t *Timeline) assistant(e *event.Event, b *event.AssistantMessage) {
	who := e.Author
	if who == "" {
		who = AgentName
	}
	for _, block := range b.Content {
		switch c := block.(type) {
		case *event.Thinking:
			if t.look.Thinking {
				t.said(e, "thinking", term.Dim, c.Text, resultLines)
			}
		case *event.Text:
			t.said(e, who, term.Plain, c.Text, saidLines)
		case *event.ToolCall:
			words := fmt.Sprintf("%s calls tool=#%d:%s", t.cycle(e), t.tools.of(c.ID), term.CleanLine(c.Name))
			t.line(e, term.Plain, "%s", term.Fit(strings.Join(append([]string{words}, ArgumentLines(c)...), "  "), longestLine))
		default:
			t.said(e, who, term.Dim, ContentText([]event.Block{c}), resultLines)
		}
	}
	if line := traceLine(e, t.tools.of); line != "" && e.Step != "" {
		t.line(e, term.Cyan, "%s", line)
	}
}

func (t *Timeline) stepBegun(e *event.Event, b *event.StepBegun) {
	if b.Step != event.StepTool {
		t.line(e, term.Cyan, "%s", traceLine(e, t.tools.of))
		return
	}
	effect, n := effectOf(b), t.tools.of(b.Call)
	words := fmt.Sprintf("%s tool=#%d:%s began effect=%s", t.cycle(e), n, term.CleanLine(b.Tool), term.CleanLine(string(effect)))
	if e.Attempt > 1 {
		words += fmt.Sprintf(" attempt=%d", e.Attempt)
	}
	if b.Reconcile {
		words += " reconcile=true"
	}
	t.line(e, term.Plain, "%s", words)
}

// effectOf returns the effect of a tool call; unknown is unsafe.
func effectOf(b *event.StepBegun) event.Effect { return cmp.Or(b.Effect, event.EffectUnsafe) }

// DoubtWords marks tool calls with an unknown outcome.
const DoubtWords = "IN DOUBT: it may or may not have happened"

func (t *Timeline) stepEnded(e *event.Event, b *event.StepEnded, step *fold.Step[struct{}, struct{}]) {
	words := t.cycle(e) + " " + stepWords(e, b, t.tools.of)
	if b.Step != event.StepTool {
		t.line(e, term.Yellow, "%s", words)
		t.failure(e, b.Err)
		return
	}
	if b.Result != nil && step != nil {
		words = strings.Replace(words, " outcome=", " effect="+term.CleanLine(string(effectOf(step.Begun)))+" outcome=", 1)
	}
	text, failed := resultText(b)
	switch {
	case b.Outcome == event.OutcomeInDoubt:
		t.line(e, term.BoldRed, "%s", words)
		t.line(e, term.BoldRed, "  %s", DoubtWords)
		return
	case failed:
		t.line(e, term.Red, "%s", words)
	default:
		t.line(e, term.Plain, "%s", words)
	}
	t.text(e, term.Dim, "  ", text, resultLines)
}

func (t *Timeline) asked(e *event.Event, b *event.Asked) {
	t.line(e, term.Yellow, "%s", traceLine(e, t.tools.of))
	t.text(e, term.Yellow, "  asks: ", b.Prompt, resultLines)
	if !b.Expires.IsZero() {
		t.line(e, term.Dim, "  closes at %s", b.Expires.In(t.zone).Format(time.DateTime))
	}
}

func (t *Timeline) answered(e *event.Event, b *event.Answered) {
	words, value := "[run] answered", term.CleanLine(string(b.Value))
	if q := t.outline.Question(b.Token); q != nil {
		words += fmt.Sprintf(" tool=#%d:%s", t.tools.of(q.Call), term.CleanLine(q.Tool))
		if q.Ask == event.AskCredential {
			value = "[hidden]"
		}
	}
	if b.By != "" {
		words += " by=" + term.CleanLine(b.By)
	}
	t.line(e, term.Yellow, "%s", term.Fit(words+": "+value, longestLine))
}

// other prints rare events.
func (t *Timeline) other(e *event.Event) {
	switch b := e.Body.(type) {
	case *event.ScopeOpened:
		what := fmt.Sprintf("for=#%d", t.tools.of(b.Call))
		if b.Call == "" { // a flow opened it
			what = "node=" + term.CleanLine(b.Node)
		}
		t.line(e, term.Plain, "[scope %s] opened agent=%s %s", term.CleanLine(b.ID), term.CleanLine(b.Agent), what)
		t.text(e, term.Dim, "  ", ContentText(b.Input), resultLines)
	case *event.ScopeClosed:
		t.line(e, term.Plain, "%s", traceLine(e, t.tools.of))
		t.failure(e, b.Err)
	case *event.StateChanged:
		names := make([]string, 0, len(b.Set))
		for name := range b.Set {
			names = append(names, term.CleanLine(name))
		}
		slices.Sort(names)
		words := ""
		if len(names) > 0 {
			words += " set=" + strings.Join(names, ",")
		}
		if len(b.Delete) > 0 {
			words += " deleted=" + term.CleanLine(strings.Join(b.Delete, ","))
		}
		t.line(e, term.Dim, "[state]%s", words)
	case *event.ArtifactSaved:
		t.line(e, term.Plain, "[artifact] saved name=%s version=%d bytes=%d", term.CleanLine(b.Name), b.Version, b.Size)
	case *event.Transferred:
		t.line(e, term.Plain, "%s agent %s takes over", t.cycle(e), term.CleanLine(b.To))
	case *event.Escalated:
		t.line(e, term.Plain, "%s the agent stops here: %s", t.cycle(e), term.Fit(term.CleanLine(b.Reason), longestLine))
	case *event.Decided:
		t.line(e, term.Plain, "%s decision: %s", t.cycle(e), decidedWords(b))
	case *event.Fault:
		t.failure(e, b.Err)
	case *event.Notice:
		t.line(e, term.Dim, "[notice] %s %s", term.CleanLine(b.Code), term.Fit(OneLine(term.Clean(b.Text)), longestLine))
	case *event.Compacted:
		words := "are now a summary for the model"
		if b.Cut {
			words = "show the model less of what tools gave"
		}
		t.line(e, term.Dim, "[log] events %d to %d %s", b.From, b.To, words)
		t.text(e, term.Dim, "  ", ContentText(b.Summary), resultLines)
	case *event.Redacted:
		words := "is redacted"
		if b.Clean {
			words = "was written without what a guardrail took out"
		}
		t.line(e, term.Yellow, "[log] event %d %s: %s", b.Target, words, term.CleanLine(b.Reason))
	default:
		t.line(e, term.Dim, "[%s] this version does not know it; --json shows it", term.CleanLine(string(e.Body.Kind())))
	}
}

// Stands prints the state of the open run at the end of the log.
func (t *Timeline) Stands(run *journal.Run, pid int, working bool) {
	var words string
	goOn := "braid chat --continue " + term.CleanLine(ShortID(run.Conversation))
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
	t.out.StartLine()
	t.out.Buf = append(t.look.Paint(append(t.out.Buf, '\n'), term.Yellow, words), '\n')
}

// failure prints an error and its hint.
func (t *Timeline) failure(e *event.Event, err *event.Error) {
	if err == nil {
		return
	}
	message, hint := term.Describe(err)
	t.text(e, term.Red, "  error: ", message, resultLines)
	if hint != "" {
		t.text(e, term.Dim, "  next: ", hint, resultLines)
	}
}

// cycle returns the event's cycle.
func (t *Timeline) cycle(e *event.Event) string {
	if e.Scope != "" {
		return fmt.Sprintf("[%s cycle %d]", term.CleanLine(e.Author), e.Cycle)
	}
	return fmt.Sprintf("[cycle %d]", e.Cycle)
}

// said prints a message with its author.
func (t *Timeline) said(e *event.Event, who string, st term.Style, text string, most int) {
	if strings.TrimSpace(text) != "" {
		t.text(e, st, term.CleanLine(who)+": ", text, most)
	}
}

// text prints foreign text after a title. It prints at most that many lines, cut to the screen, and counts
// the rest.
func (t *Timeline) text(e *event.Event, st term.Style, title, text string, most int) {
	lines := strings.Split(strings.TrimSpace(term.Clean(text)), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return
	}
	rest := len(lines) - most
	if rest > 1 {
		lines = lines[:most]
	}
	room := t.room(e)
	for _, line := range lines {
		t.line(e, st, "%s", term.Fit(title+strings.ReplaceAll(line, "\t", " "), room))
		title = strings.Repeat(" ", term.Width(title))
	}
	if rest > 1 {
		t.line(e, term.Dim, "%s… %d more lines", title, rest)
	}
}

// line prints text after the event's number and time. Text wider than the screen is wrapped.
func (t *Timeline) line(e *event.Event, st term.Style, format string, args ...any) {
	t.out.StartLine()
	text := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	lines := []string{text}
	if room := t.room(e); term.Width(text) > room {
		lines = term.Wrap(text, room-2)
	}
	for i, line := range lines {
		if i > 0 {
			line = "  " + line
		}
		head := t.head(e)
		if line == "" {
			head = strings.TrimRight(head, " ")
		}
		t.out.Buf = t.look.Paint(t.look.Paint(t.out.Buf, term.Dim, head), st, term.Fit(line, t.room(e)))
		t.out.Buf = append(t.out.Buf, '\n')
	}
}

// head returns the event's number and time, indented by the depth of its scope.
func (t *Timeline) head(e *event.Event) string {
	depth := 0
	if in := t.outline.Thread(e.Scope); in != nil && e.Scope != "" {
		depth = min(max(in.Depth, 1), 8)
	}
	indent := strings.Repeat("  ", depth)
	return fmt.Sprintf("%5d %s  %s", e.Seq, e.Time.In(t.zone).Format("15:04:05.000"), indent)
}

// longestLine is the maximum width of a line in a pipe.
const longestLine = 200

// room is the number of columns after the head.
func (t *Timeline) room(e *event.Event) int {
	if !t.look.Terminal {
		return longestLine
	}
	return max(t.look.Width-len(t.head(e)), 20)
}

// ShortID returns the beginning of an ID, which is nearly always unique.
func ShortID(id string) string { return id[:min(len(id), ShortIDLength)] }

// ShortIDLength is the number of characters of a printed ID.
const ShortIDLength = 8
