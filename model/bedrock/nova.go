package bedrock

import "strings"

// Before it calls a tool, Nova writes its thinking into the text in <thinking> tags
// (nova/latest/userguide/prompting-tool-troubleshooting). The splitter turns it into thinking, piece by piece.
const (
	tagOpen  = "<thinking>"
	tagClose = "</thinking>"
)

// splitter separates text and thinking. It holds back a possible beginning of a tag until it is known to be one or
// not. Blanks after a tag belong to the tag.
type splitter struct {
	held string
	// inside is set between the tags, trim after one.
	inside, trim bool
}

// take passes the decided pieces of a text to out, with whether each is thinking. A change from one to the other
// begins a new block.
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

// end passes on what was held back: the text is over, so it was not a tag.
func (s *splitter) end(out func(string, bool)) {
	s.say(s.held, out)
	*s = splitter{}
}
