package adk

import (
	"slices"
	"strings"
)

// UserAuthor is the author of what a person said.
const UserAuthor = "user"

// Final is is_final_response of ADK: whether the event is fit to be shown as an agent's whole output. The rule is that of its
// source, not that of its documentation: an event that skips summarization is final, one with long-running calls is final,
// and any other is final if it has no call, no response, is no piece and does not end with the result of code. So an event
// without content is final, and who shows final events must also look for text.
func (e *Event) Final() bool {
	if e.Actions != nil && e.Actions.SkipSummarization == True || len(e.LongRunning) > 0 {
		return true
	}
	if e.Partial == True {
		return false
	}
	parts := e.parts()
	for i := range parts {
		if parts[i].Call != nil || parts[i].Response != nil {
			return false
		}
	}
	return len(parts) == 0 || parts[len(parts)-1].CodeResult == nil
}

func (e *Event) parts() []Part {
	if e.Content == nil {
		return nil
	}
	return e.Content.Parts
}

// Calls returns the calls of functions, in order; nil if there are none.
func (e *Event) Calls() (list []*Call) {
	parts := e.parts()
	for i := range parts {
		if c := parts[i].Call; c != nil {
			list = append(list, c)
		}
	}
	return list
}

// Responses returns the responses of functions, in order; nil if there are none.
func (e *Event) Responses() (list []*Response) {
	parts := e.parts()
	for i := range parts {
		if r := parts[i].Response; r != nil {
			list = append(list, r)
		}
	}
	return list
}

// Text returns the text of the event without the model's reasoning. A piece and the event that closes its answer both have
// it: [Texts] joins a stream.
func (e *Event) Text() string {
	var text strings.Builder
	parts := e.parts()
	for i := range parts {
		if p := &parts[i]; p.Text != nil && p.Thought != True {
			text.WriteString(*p.Text)
		}
	}
	return text.String()
}

// Texts joins the text of a stream without doubling it: the event that closes a streamed answer repeats the pieces before it.
// The zero value is at the beginning of a stream. It is used by one goroutine at a time.
type Texts struct {
	// byID is what was said of each open answer; byAuthor is the same for streams whose pieces have ids of their own (adk-go).
	byID, byAuthor map[string]string
}

// Add takes in the next event and returns the text in it that no event before it had. An answer that does not begin as it was
// streamed, because it was replaced, is returned whole.
func (t *Texts) Add(e *Event) string {
	text := e.Text()
	if e.Partial == True {
		if t.byID == nil {
			t.byID, t.byAuthor = map[string]string{}, map[string]string{}
		}
		t.byID[e.ID] += text
		t.byAuthor[e.Author] += text
		return text
	}
	said, same := t.byID[e.ID]
	if !same && text == "" {
		return ""
	}
	if !same {
		said = t.byAuthor[e.Author]
	}
	delete(t.byID, e.ID)
	delete(t.byAuthor, e.Author)
	return strings.TrimPrefix(text, said)
}

// Kind is what an event is, as the example of ADK's documentation tells events apart.
type Kind string

// The kinds of events.
const (
	// KindCalls asks for tools, KindResults has what they gave.
	KindCalls   Kind = "tool_calls"
	KindResults Kind = "tool_results"
	// KindText is a text: a piece of one if the event is partial, otherwise a whole one.
	KindText Kind = "text"
	// KindContent is other content, such as the result of code.
	KindContent Kind = "content"
	// KindUpdate changes only state or artifacts.
	KindUpdate Kind = "update"
	// KindControl is a signal of control or anything else, such as an error.
	KindControl Kind = "control"
)

// Describe says what an event is. The first kind that fits wins, in the order of the constants.
func Describe(e *Event) Kind {
	parts := e.parts()
	says := func(p Part) bool { return p.Text != nil && *p.Text != "" }
	switch {
	case len(e.Calls()) > 0:
		return KindCalls
	case len(e.Responses()) > 0:
		return KindResults
	case slices.ContainsFunc(parts, says):
		return KindText
	case len(parts) > 0:
		return KindContent
	case e.Actions != nil && (len(e.Actions.StateDelta) > 0 || len(e.Actions.ArtifactDelta) > 0):
		return KindUpdate
	}
	return KindControl
}
