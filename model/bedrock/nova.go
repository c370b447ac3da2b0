package bedrock

import "strings"

// Nova thinks aloud before it calls a tool, in <thinking> tags that stand in its
// text (nova/latest/userguide/prompting-tool-troubleshooting). It is thinking and
// no answer, so it becomes thinking here, piece by piece as it comes.
const (
	tagOpen  = "<thinking>"
	tagClose = "</thinking>"
)

// splitter takes a text apart. What may be the beginning of a tag is held until
// it is known to be one or not; the blanks behind a tag belong to it.
type splitter struct {
	held string
	// inside is set between the tags, trim behind one.
	inside, trim bool
}

// take gives the pieces of a text that are known; out is told of each whether it
// is thinking. A change from one to the other begins a new block.
func (s *splitter) take(text string, out func(text string, thinking bool)) {
	if s.held != "" {
		text, s.held = s.held+text, ""
	}
	for text != "" {
		tag := tagOpen
		if s.inside {
			tag = tagClose
		}
		i := strings.IndexByte(text, '<')
		switch {
		case i < 0:
			s.say(text, out)
			return
		case strings.HasPrefix(text[i:], tag):
			s.say(text[:i], out)
			s.inside, s.trim = !s.inside, true
			text = text[i+len(tag):]
		case strings.HasPrefix(tag, text[i:]):
			s.say(text[:i], out)
			s.held = text[i:]
			return
		default:
			s.say(text[:i+1], out)
			text = text[i+1:]
		}
	}
}

func (s *splitter) say(text string, out func(string, bool)) {
	if s.trim {
		if text = strings.TrimLeft(text, " \t\r\n"); text == "" {
			return
		}
		s.trim = false
	}
	if text != "" {
		out(text, s.inside)
	}
}

// end hands over what was held: the text is over, and it was no tag.
func (s *splitter) end(out func(string, bool)) {
	s.say(s.held, out)
	*s = splitter{}
}
