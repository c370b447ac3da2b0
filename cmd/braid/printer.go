package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// printer shows the events of a conversation's runs.
type printer interface {
	// event shows one event. The error is that of the output.
	event(e *event.Event) error
	// end shows what one call of the library came to; a run that asks a
	// question has several.
	end(s *summary) error
}

// look is how a [story] is told.
type look struct {
	screen
	// thinking shows the model's reasoning, trace each cycle with its reasons.
	thinking bool
	trace    bool
}

// story tells a run to a person: the answer as it comes, the model's thinking,
// and the tool calls as cards. The same events give the same story, whether
// they come live or from the log.
type story struct {
	out  *output
	look look
	// tools numbers the calls over the whole conversation.
	tools numbers
	// outline knows the agents that work for the root.
	outline fold.Outline[struct{}, struct{}]
	// part is what was written last, so that parts are told apart.
	part part
	// text and thought hold characters that have not come whole.
	text, thought cleaner
	// streamed is the step whose text has been shown piece by piece.
	streamed string
	// lineOpen is set inside a line of thinking.
	lineOpen bool
	tree     braid.Trace
}

// part is a stretch of the story.
type part uint8

const (
	partNone part = iota
	partText
	partThinking
	partTools
	partNote
)

func newStory(out *output, l look) *story {
	return &story{out: out, look: l, tools: numbers{}}
}

// event implements [printer].
func (s *story) event(e *event.Event) error {
	at := s.outline.Add(e)
	if e.Scope == "" {
		s.outer(e, &at)
	} else {
		s.inner(e, &at)
	}
	s.tree.Add(e)
	if s.look.trace {
		if line := traceLine(e, s.tools.of); line != "" {
			s.note(0, cyan, "%s", line)
		}
	}
	return s.out.flush()
}

// storyPlace is what an event is about.
type storyPlace = fold.Place[struct{}, struct{}]

// outer shows an event of the root agent, whose text is streamed.
func (s *story) outer(e *event.Event, at *storyPlace) {
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

// inner shows an event of an agent that works for the root. Several may work
// at once, so their text is not streamed but told when it is whole.
func (s *story) inner(e *event.Event, at *storyPlace) {
	depth := 1
	if at.Thread != nil {
		depth = max(at.Thread.Depth, 1)
	}
	switch b := e.Body.(type) {
	case *event.TextDelta, *event.ThinkingDelta, *event.AnswerReplaced:
	case *event.AssistantMessage:
		if text := event.TextOf(b.Content); text != "" {
			s.begin(partNote)
			s.lines(depth, plain, cleanLine(e.Author)+": ", clean(text))
		}
		for _, c := range event.CallsOf(b.Content) {
			s.begin(partTools)
			s.callCard(c, depth)
		}
		for _, block := range b.Content {
			if words := vendorsWords(block); words != "" {
				s.note(depth, dim, "%s", words)
			}
		}
	default:
		s.common(e, at, depth)
	}
}

// common shows what looks the same in every scope, but for its indentation.
func (s *story) common(e *event.Event, at *storyPlace, depth int) {
	switch b := e.Body.(type) {
	case *event.StepBegun:
		if b.Step == event.StepTool && e.Attempt > 1 {
			s.note(depth, dim, "#%d %s goes on (attempt %d)", s.tools.of(b.Call), cleanLine(b.Tool), e.Attempt)
		}
	case *event.StepEnded:
		s.stepEnded(e, b, depth)
	case *event.ToolProgress:
		if b.Text != "" {
			s.begin(partTools)
			s.progress(b, depth)
		}
	case *event.ScopeOpened:
		s.note(depth, dim, "agent %s begins", cleanLine(b.Agent))
	case *event.ScopeClosed:
		agent := ""
		if at.Closed != nil {
			agent = cleanLine(at.Closed.Agent)
		}
		if b.Err != nil {
			message, _ := describe(b.Err)
			s.note(depth, red, "agent %s failed: %s", agent, oneLine(message))
		} else {
			s.note(depth, dim, "agent %s is done", agent)
		}
	case *event.Transferred:
		s.note(depth, dim, "agent %s takes over", cleanLine(b.To))
	case *event.Escalated:
		s.note(depth, dim, "the agent stops here: %s", cleanLine(b.Reason))
	case *event.ArtifactSaved:
		s.note(depth, dim, "saved %s, version %d (%d bytes)", cleanLine(b.Name), b.Version, b.Size)
	case *event.Compacted:
		s.note(depth, dim, "the conversation became long: %s", compactedWords(b))
	case *event.Redacted:
		if b.Clean {
			s.note(depth, dim, "the guardrail %s has taken something out", cleanLine(b.Reason))
			return
		}
		s.note(depth, dim, "the model's provider takes back what was asked: %s", oneLine(clean(event.TextOf(b.Shown()))))
	case *event.Fault:
		message, _ := describe(b.Err)
		s.note(depth, red, "%s", oneLine(message))
	case *event.Notice:
		if b.Text != "" {
			s.note(depth, dim, "%s", oneLine(clean(b.Text)))
		}
	case *event.RunEnded:
		s.closeText()
		s.out.startLine()
	}
}

// message closes a streamed answer, or shows one that was not streamed.
func (s *story) message(e *event.Event, b *event.AssistantMessage) {
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
	s.out.startLine()
	s.streamed = ""
	for _, block := range b.Content {
		switch c := block.(type) {
		case *event.ToolCall:
			s.begin(partTools)
			s.callCard(c, 0)
		case *event.Citation:
			s.note(0, dim, "source: %s", cleanLine(strings.TrimSpace(c.Title+" "+c.URL)))
		default:
			if words := vendorsWords(block); words != "" {
				s.note(0, dim, "%s", words)
			}
		}
	}
	if b.Stop == event.StopMaxTokens {
		s.note(0, yellow, "the answer was cut at its token limit")
	}
}

// takenBack says that what was streamed of an answer does not stand. It cannot be taken off
// the paper.
func (s *story) takenBack(e *event.Event, b *event.AnswerReplaced) {
	if s.streamed == e.Step {
		s.note(0, yellow, "the model's provider takes this back; instead:")
	}
	s.streamed = e.Step
	s.say(b.Text)
}

// begin goes to another part of the story: on a fresh line, with an empty one
// between it and the part before.
func (s *story) begin(p part) {
	if s.part == p {
		if p != partText && p != partThinking {
			s.out.startLine()
		}
		return
	}
	s.closeText()
	s.out.startLine()
	if s.part != partNone && (p == partText || p == partThinking || s.part == partText || s.part == partThinking) {
		s.out.buf = append(s.out.buf, '\n')
	}
	s.part = p
}

// closeText writes what the cleaners hold back.
func (s *story) closeText() {
	switch s.part {
	case partText:
		s.out.buf = s.text.flush(s.out.buf)
	case partThinking:
		s.thoughtLines(string(s.thought.flush(nil)))
		s.lineOpen = false
	}
}

// say adds to the answer.
func (s *story) say(text string) {
	if text == "" {
		return
	}
	s.begin(partText)
	s.out.buf = s.text.add(s.out.buf, text)
}

// think adds to the model's thinking, set off by a mark before each line.
func (s *story) think(text string) {
	if text == "" || !s.look.thinking {
		return
	}
	s.begin(partThinking)
	s.thoughtLines(string(s.thought.add(nil, text)))
}

func (s *story) thoughtLines(text string) {
	for text != "" {
		line, rest, broken := strings.Cut(text, "\n")
		if !s.lineOpen {
			s.out.buf = s.look.paint(s.out.buf, dim, s.look.marks().thought)
			s.lineOpen = true
		}
		s.out.buf = s.look.paint(s.out.buf, dim, line)
		if broken {
			s.out.buf = append(s.out.buf, '\n')
			s.lineOpen = false
		}
		text = rest
	}
}

// note writes one line about what happens.
func (s *story) note(depth int, st style, format string, args ...any) {
	s.begin(partNote)
	s.lines(depth, st, "", fmt.Sprintf(format, args...))
}

// lines writes whole lines in a style, indented, the first after a title.
func (s *story) lines(depth int, st style, title, text string) {
	s.out.startLine()
	indent := strings.Repeat("  ", depth)
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		s.out.buf = append(s.out.buf, indent...)
		s.out.buf = s.look.paint(s.out.buf, bold, title)
		s.out.buf = s.look.paint(s.out.buf, st, line)
		s.out.buf = append(s.out.buf, '\n')
		title = ""
	}
}

// compactedWords say what the model is not shown any more.
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

// stepEnded shows the end of a tool call, or a model call that gave no message.
func (s *story) stepEnded(e *event.Event, b *event.StepEnded, depth int) {
	if b.Step == event.StepTool {
		s.begin(partTools)
		s.resultCard(b, depth)
		return
	}
	s.closeText()
	s.out.startLine()
	s.streamed = ""
	if b.Err == nil || b.RetryAt.IsZero() {
		return // the end of the scope or the run tells
	}
	message, _ := describe(b.Err)
	message = strings.TrimSuffix(message, ".")
	if b.Fallback != "" {
		s.note(depth, yellow, "%s: asking %s instead (attempt %d)", oneLine(message), cleanLine(b.Fallback), e.Attempt+1)
		return
	}
	wait := max(b.RetryAt.Sub(e.Time), 0).Round(100 * time.Millisecond)
	s.note(depth, yellow, "%s: trying again in %s (attempt %d)", oneLine(message), wait, e.Attempt+1)
}

// end implements [printer].
func (s *story) end(sum *summary) error {
	s.closeText()
	s.out.startLine()
	if s.look.trace {
		for _, line := range traceLines(s.tree.Root(), sum) {
			s.note(0, cyan, "%s", line)
		}
		s.out.startLine()
	}
	s.part = partNone
	if sum.Output != nil && sum.Stop == event.StopToolUse { // a tool has taken it: it has not been said
		s.out.buf = append(append(s.out.buf, '\n'), cleanJSON(nil, indented(sum.Output))...)
		s.out.buf = append(s.out.buf, '\n')
	}
	if s.look.terminal {
		s.out.buf = append(s.out.buf, '\n')
		s.out.buf = s.look.paint(s.out.buf, dim, fit(sum.line(), s.look.width))
		s.out.buf = append(s.out.buf, '\n')
	}
	return s.out.flush()
}

// oneLine keeps a cleaned text on one line.
func oneLine(s string) string { return lineBreaks.Replace(strings.TrimSpace(s)) }

// agentName is the author of what the command's agent says.
const agentName = "assistant"
