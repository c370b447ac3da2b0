package native

import "slices"

// Screen is what a client shows of the run that it watches. It is the package's
// rules in running form: whatever was cut off, repeated or replaced on the way, two
// screens that were given the run to the same place show the same of each step. The
// zero Screen is empty. It is used by one goroutine at a time.
type Screen struct {
	// Run is the run's beginning, nil where the stream began after it.
	Run *Init
	// Title is the conversation's, where it was told.
	Title string
	// Answers are the model steps in the order in which they were first seen.
	Answers []*Answer
	// Calls are the tool calls in the order in which they were first seen.
	Calls []*ToolCall
	// Questions are those that are open.
	Questions []*Question
	// End is the terminal frame, a *[Result] or *[Error]; nil while the run goes on.
	End Frame
}

// Answer is one model step.
type Answer struct {
	Place
	// Message is the whole of it once it is there.
	Message *Message
	// Void says that the attempt failed, or that the run ended before the step.
	// Its text stays, for people; it is no part of the conversation.
	Void bool
	// Truncated says that something is missing before the message comes.
	Truncated bool

	text, thinking []byte
}

// Text is the step's text as far as it has come.
func (a *Answer) Text() string { return string(a.text) }

// Thinking is its reasoning as far as it has come.
func (a *Answer) Thinking() string { return string(a.thinking) }

// ToolCall is one tool call: what of it has been seen.
type ToolCall struct {
	Use      *ToolUse
	Progress *ToolProgress
	Result   *ToolResult
}

// Change says what a frame did to the text of a step.
type Change struct {
	// Answer is the step, nil where the frame has none.
	Answer *Answer
	// Text and Thinking are what came to what was shown of it. With Replaced set
	// what was shown no longer holds, and they are the whole.
	Text     string
	Thinking string
	Replaced bool
}

// Apply takes a frame in. An init begins another run: everything but the title
// goes.
func (s *Screen) Apply(f Frame) Change {
	switch f := f.(type) {
	case *Init:
		*s = Screen{Run: f, Title: s.Title}
	case *TextDelta:
		if a, fresh := s.answer(&f.Place); a != nil && !a.Truncated {
			a.text = append(a.text, f.Text...)
			return Change{Answer: a, Text: f.Text, Replaced: fresh}
		}
	case *Thinking:
		if a, fresh := s.answer(&f.Place); a != nil && !a.Truncated {
			a.thinking = append(a.thinking, f.Text...)
			return Change{Answer: a, Thinking: f.Text, Replaced: fresh}
		}
	case *Snapshot:
		if a, fresh := s.answer(&f.Place); a != nil {
			a.Truncated = f.Truncated
			return a.replace(f.Text, f.Thinking, fresh)
		}
	case *Message:
		return s.message(f)
	case *Retry:
		if a, fresh := s.answer(&f.Place); a != nil {
			a.Void = true
			return Change{Answer: a, Replaced: fresh}
		}
	case *ToolUse:
		s.call(f.ToolUseID).Use = f
	case *ToolProgress:
		s.call(f.ToolUseID).Progress = f
	case *ToolResult:
		s.call(f.ToolUseID).Result = f
	case *Question:
		s.closeQuestion(f.QuestionID)
		s.Questions = append(s.Questions, f)
	case *Answered:
		s.closeQuestion(f.QuestionID)
	case *Title:
		s.Title = f.Title
	case *Result, *Error:
		s.finish(f)
	}
	return Change{}
}

// Text is the text of a step; "" where it is void or not known.
func (s *Screen) Text(step string) string {
	for _, a := range s.Answers {
		if a.Step == step && !a.Void {
			return a.Text()
		}
	}
	return ""
}

// answer finds a step for a frame of an attempt, or begins it. It is nil where the
// frame comes too late; fresh means that text of an earlier attempt has gone.
func (s *Screen) answer(p *Place) (a *Answer, fresh bool) {
	for i := len(s.Answers) - 1; i >= 0; i-- {
		a := s.Answers[i]
		if a.Step != p.Step || p.Step == "" {
			continue
		}
		switch {
		case p.Attempt < a.Attempt || a.Message != nil && !a.Message.Piece && p.Attempt == a.Attempt:
			return nil, false
		case p.Attempt > a.Attempt:
			fresh = len(a.text)+len(a.thinking) > 0
			*a = Answer{Place: *p}
		}
		return a, fresh
	}
	a = &Answer{Place: *p}
	s.Answers = append(s.Answers, a)
	return a, false
}

func (s *Screen) message(f *Message) Change {
	a, fresh := s.answer(&f.Place)
	if a == nil {
		return Change{}
	}
	a.Message, a.Void = f, false
	if !f.Piece {
		a.Truncated = false
		return a.replace(f.Text, f.Thinking, fresh)
	}
	// What was streamed may be ahead of what is committed.
	text, thinking := f.Text, f.Thinking
	if _, ahead := after(string(a.text), []byte(text)); ahead {
		text = string(a.text)
	}
	if _, ahead := after(string(a.thinking), []byte(thinking)); ahead {
		thinking = string(a.thinking)
	}
	return a.replace(text, thinking, fresh)
}

// replace sets the text. Where it goes on from what was shown, that is the change.
func (a *Answer) replace(text, thinking string, fresh bool) Change {
	c := Change{Answer: a, Text: text, Thinking: thinking, Replaced: fresh}
	if !fresh {
		moreText, ok := after(text, a.text)
		moreThinking, also := after(thinking, a.thinking)
		if c.Replaced = !ok || !also; !c.Replaced {
			c.Text, c.Thinking = moreText, moreThinking
		}
	}
	a.text, a.thinking = append(a.text[:0], text...), append(a.thinking[:0], thinking...)
	return c
}

// after is what of text comes after shown, if it begins so.
func after(text string, shown []byte) (string, bool) {
	if len(text) < len(shown) || text[:len(shown)] != string(shown) {
		return "", false
	}
	return text[len(shown):], true
}

func (s *Screen) call(id string) *ToolCall {
	for _, c := range s.Calls {
		if c.id() == id {
			return c
		}
	}
	c := &ToolCall{}
	s.Calls = append(s.Calls, c)
	return c
}

// id is that of what has been seen of the call.
func (c *ToolCall) id() string {
	switch {
	case c.Use != nil:
		return c.Use.ToolUseID
	case c.Progress != nil:
		return c.Progress.ToolUseID
	case c.Result != nil:
		return c.Result.ToolUseID
	default:
		return ""
	}
}

func (s *Screen) closeQuestion(id string) {
	s.Questions = slices.DeleteFunc(s.Questions, func(q *Question) bool { return q.QuestionID == id })
}

func (s *Screen) finish(f Frame) {
	s.End, s.Questions = f, nil
	for _, a := range s.Answers {
		if a.Message == nil || a.Message.Piece {
			a.Void = true
		}
	}
}
