package printer

import (
	"fmt"
	"strings"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/trace"
)

// Printer prints the events of runs.
type Printer interface {
	// Event prints one event. It returns errors of the output.
	Event(e *event.Event) error
	// End prints the summary of one call of the library. A run with questions has several.
	End(s *Summary) error
}

// Look holds the display settings of a [Transcript].
type Look struct {
	term.Screen
	// Thinking shows the model's reasoning.
	Thinking bool
	Trace    bool
}

// Transcript prints runs for users: the answer as it arrives, the model's thinking, and tool calls as
// cards. Live events and the events of the log give the same transcript.
type Transcript struct {
	out  *term.Output
	Look Look
	// tools numbers the calls of the whole conversation.
	tools numbers
	// outline tracks the sub-agents.
	outline fold.Outline[struct{}, struct{}]
	// part is the kind of the last output, to separate parts by empty lines.
	part part
	// text and thought hold incomplete characters.
	text, thought term.Cleaner
	// streamed is the step whose text has been streamed.
	streamed string
	// lineOpen is set inside a line of thinking.
	lineOpen bool
	tree     trace.Tree
}

// part is a kind of output.
type part uint8

const (
	partNone part = iota
	partText
	partThinking
	partTools
	partNote
)

// NewTranscript returns a Transcript that writes to out.
func NewTranscript(out *term.Output, l Look) *Transcript {
	return &Transcript{out: out, Look: l, tools: numbers{}}
}

// Event implements [Printer].
func (s *Transcript) Event(e *event.Event) error {
	at := s.outline.Add(e)
	if e.Scope == "" {
		s.outer(e, &at)
	} else {
		s.inner(e, &at)
	}
	s.tree.Add(e)
	if s.Look.Trace {
		if line := traceLine(e, s.tools.of); line != "" {
			s.Note(0, term.Cyan, "%s", line)
		}
	}
	return s.out.Flush()
}

// storyPlace is the place of an event in the outline.
type storyPlace = fold.Place[struct{}, struct{}]

// outer prints an event of the root agent, whose text is streamed.
func (s *Transcript) outer(e *event.Event, at *storyPlace) {
	switch b := e.Body.(type) {
	case *event.TextDelta:
		s.streamed = e.Step
		s.say(b.Text)
	case *event.ThinkingDelta:
		s.streamed = e.Step
		s.think(b.Text)
	case *event.AnswerReplaced:
		s.takenBack(e, b)
	case *event.AssistantMessage:
		s.message(e, b)
	default:
		s.common(e, at, 0)
	}
}

// inner prints an event of a sub-agent. Several sub-agents may run at once, so their text is printed when
// it is complete.
func (s *Transcript) inner(e *event.Event, at *storyPlace) {
	depth := 1
	if at.Thread != nil {
		depth = max(at.Thread.Depth, 1)
	}
	switch b := e.Body.(type) {
	case *event.TextDelta, *event.ThinkingDelta, *event.AnswerReplaced:
	case *event.AssistantMessage:
		if text := event.TextOf(b.Content); text != "" {
			s.begin(partNote)
			s.lines(depth, term.Plain, term.CleanLine(e.Author)+": ", term.Clean(text))
		}
		for _, c := range event.CallsOf(b.Content) {
			s.begin(partTools)
			s.callCard(c, depth)
		}
		for _, block := range b.Content {
			if words := vendorsWords(block); words != "" {
				s.Note(depth, term.Dim, "%s", words)
			}
		}
	default:
		s.common(e, at, depth)
	}
}

// common prints events that look the same in every scope, except for the indentation.
func (s *Transcript) common(e *event.Event, at *storyPlace, depth int) {
	switch b := e.Body.(type) {
	case *event.StepBegun:
		if b.Step == event.StepTool && e.Attempt > 1 {
			s.Note(depth, term.Dim, "#%d %s goes on (attempt %d)", s.tools.of(b.Call), term.CleanLine(b.Tool), e.Attempt)
		}
	case *event.StepEnded:
		s.stepEnded(e, b, depth)
	case *event.ToolProgress:
		if b.Text != "" {
			s.begin(partTools)
			s.progress(b, depth)
		}
	case *event.ScopeOpened:
		s.Note(depth, term.Dim, "agent %s begins", term.CleanLine(b.Agent))
	case *event.ScopeClosed:
		agent := ""
		if at.Closed != nil {
			agent = term.CleanLine(at.Closed.Agent)
		}
		if b.Err != nil {
			message, _ := term.Describe(b.Err)
			s.Note(depth, term.Red, "agent %s failed: %s", agent, OneLine(message))
		} else {
			s.Note(depth, term.Dim, "agent %s is done", agent)
		}
	case *event.Transferred:
		s.Note(depth, term.Dim, "agent %s takes over", term.CleanLine(b.To))
	case *event.Escalated:
		s.Note(depth, term.Dim, "the agent stops here: %s", term.CleanLine(b.Reason))
	case *event.Decided:
		s.Note(depth, term.Dim, "decision: %s", decidedWords(b))
	case *event.ArtifactSaved:
		s.Note(depth, term.Dim, "saved %s, version %d (%d bytes)", term.CleanLine(b.Name), b.Version, b.Size)
	case *event.Compacted:
		s.Note(depth, term.Dim, "the conversation became long: %s", compactedWords(b))
	case *event.Redacted:
		if b.Clean {
			s.Note(depth, term.Dim, "the guardrail %s has taken something out", term.CleanLine(b.Reason))
			return
		}
		s.Note(depth, term.Dim, "the model's provider takes back what was asked: %s", OneLine(term.Clean(event.TextOf(b.Shown()))))
	case *event.Fault:
		message, _ := term.Describe(b.Err)
		s.Note(depth, term.Red, "%s", OneLine(message))
	case *event.Notice:
		if b.Text != "" {
			s.Note(depth, term.Dim, "%s", OneLine(term.Clean(b.Text)))
		}
	case *event.RunEnded:
		s.closeText()
		s.out.StartLine()
	}
}

// message ends a streamed answer, or prints one that was not streamed.
func (s *Transcript) message(e *event.Event, b *event.AssistantMessage) {
	if s.streamed != e.Step || e.Step == "" {
		for _, block := range b.Content {
			switch c := block.(type) {
			case *event.Thinking:
				s.think(c.Text)
			case *event.Text:
				s.say(c.Text)
			}
		}
	}
	s.closeText()
	s.out.StartLine()
	s.streamed = ""
	for _, block := range b.Content {
		switch c := block.(type) {
		case *event.ToolCall:
			s.begin(partTools)
			s.callCard(c, 0)
		case *event.Citation:
			s.Note(0, term.Dim, "source: %s", term.CleanLine(strings.TrimSpace(c.Title+" "+c.URL)))
		default:
			if words := vendorsWords(block); words != "" {
				s.Note(0, term.Dim, "%s", words)
			}
		}
	}
	if b.Stop == event.StopMaxTokens {
		s.Note(0, term.Yellow, "the answer was cut at its token limit")
	}
}

// takenBack reports that the provider withdrew streamed text. The printed text cannot be removed.
func (s *Transcript) takenBack(e *event.Event, b *event.AnswerReplaced) {
	if s.streamed == e.Step {
		s.Note(0, term.Yellow, "the model's provider takes this back; instead:")
	}
	s.streamed = e.Step
	s.say(b.Text)
}

// begin starts a new part on a fresh line, after an empty line.
func (s *Transcript) begin(p part) {
	if s.part == p {
		if p != partText && p != partThinking {
			s.out.StartLine()
		}
		return
	}
	s.closeText()
	s.out.StartLine()
	if s.part != partNone && (p == partText || p == partThinking || s.part == partText || s.part == partThinking) {
		s.out.Buf = append(s.out.Buf, '\n')
	}
	s.part = p
}

// closeText writes the incomplete characters.
func (s *Transcript) closeText() {
	switch s.part {
	case partText:
		s.out.Buf = s.text.Flush(s.out.Buf)
	case partThinking:
		s.thoughtLines(string(s.thought.Flush(nil)))
		s.lineOpen = false
	}
}

// say prints a piece of the answer.
func (s *Transcript) say(text string) {
	if text == "" {
		return
	}
	s.begin(partText)
	s.out.Buf = s.text.Add(s.out.Buf, text)
}

// think prints a piece of the model's thinking, with a mark before each line.
func (s *Transcript) think(text string) {
	if text == "" || !s.Look.Thinking {
		return
	}
	s.begin(partThinking)
	s.thoughtLines(string(s.thought.Add(nil, text)))
}

func (s *Transcript) thoughtLines(text string) {
	for text != "" {
		line, rest, broken := strings.Cut(text, "\n")
		if !s.lineOpen {
			s.out.Buf = s.Look.Paint(s.out.Buf, term.Dim, s.Look.marks().thought)
			s.lineOpen = true
		}
		s.out.Buf = s.Look.Paint(s.out.Buf, term.Dim, line)
		if broken {
			s.out.Buf = append(s.out.Buf, '\n')
			s.lineOpen = false
		}
		text = rest
	}
}

// Note prints one line about the run.
func (s *Transcript) Note(depth int, st term.Style, format string, args ...any) {
	s.begin(partNote)
	s.lines(depth, st, "", fmt.Sprintf(format, args...))
}

// lines prints whole lines in a style, indented, the first one after a title.
func (s *Transcript) lines(depth int, st term.Style, title, text string) {
	s.out.StartLine()
	indent := strings.Repeat("  ", depth)
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		s.out.Buf = append(s.out.Buf, indent...)
		s.out.Buf = s.Look.Paint(s.out.Buf, term.Bold, title)
		s.out.Buf = s.Look.Paint(s.out.Buf, st, line)
		s.out.Buf = append(s.out.Buf, '\n')
		title = ""
	}
}

// decidedWords says what the program has decided.
func decidedWords(b *event.Decided) string {
	if b.Err != nil {
		return term.CleanLine(b.Name) + " failed: " + term.CleanLine(b.Err.Message)
	}
	return term.CleanLine(b.Name) + " is " + term.Fit(term.CleanLine(string(b.Value)), longestLine)
}

// compactedWords describes which part of the history the model no longer sees.
func compactedWords(b *event.Compacted) string {
	switch {
	case b.Cut:
		return "the model now sees less of what tools gave"
	case len(b.Summary) == 0:
		return "the model does not see its beginning any more"
	default:
		return "its beginning is now a summary for the model"
	}
}

// stepEnded prints the end of a tool call, or of a model call without a message.
func (s *Transcript) stepEnded(e *event.Event, b *event.StepEnded, depth int) {
	if b.Step == event.StepTool {
		s.begin(partTools)
		s.resultCard(b, depth)
		return
	}
	s.closeText()
	s.out.StartLine()
	s.streamed = ""
	if b.Err == nil || b.RetryAt.IsZero() {
		return // the end of the scope or the run reports it
	}
	message, _ := term.Describe(b.Err)
	message = strings.TrimSuffix(message, ".")
	if b.Fallback != "" {
		s.Note(depth, term.Yellow, "%s: asking %s instead (attempt %d)", OneLine(message), term.CleanLine(b.Fallback), e.Attempt+1)
		return
	}
	wait := max(b.RetryAt.Sub(e.Time), 0).Round(100 * time.Millisecond)
	s.Note(depth, term.Yellow, "%s: trying again in %s (attempt %d)", OneLine(message), wait, e.Attempt+1)
}

// End implements [Printer].
func (s *Transcript) End(sum *Summary) error {
	s.closeText()
	s.out.StartLine()
	if s.Look.Trace {
		for _, line := range traceLines(s.tree.Root(), sum) {
			s.Note(0, term.Cyan, "%s", line)
		}
		s.out.StartLine()
	}
	s.part = partNone
	if sum.Output != nil && sum.Stop == event.StopToolUse { // a tool has taken it: it has not been said
		s.out.Buf = append(append(s.out.Buf, '\n'), term.CleanJSON(nil, indented(sum.Output))...)
		s.out.Buf = append(s.out.Buf, '\n')
	}
	if s.Look.Terminal {
		s.out.Buf = append(s.out.Buf, '\n')
		s.out.Buf = s.Look.Paint(s.out.Buf, term.Dim, term.Fit(sum.line(), s.Look.Width))
		s.out.Buf = append(s.out.Buf, '\n')
	}
	return s.out.Flush()
}

// OneLine puts a cleaned text on one line.
func OneLine(s string) string { return term.LineBreaks.Replace(strings.TrimSpace(s)) }

// AgentName is the name of the command's own agent.
const AgentName = "assistant"
