package agui

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/wire/story"
)

// scope is an agent's thread of work. AG-UI calls a scope other than the run's own a subagent.
type scope struct {
	id string
	// sub names the subagent's invocation, and begins is the event that announces it. Both are empty for the run's own agent,
	// and for a subagent that is not at work.
	sub    string
	begins *frame
	// invoked counts the invocations.
	invoked int
	// calls are the newest calls by their ids in the log.
	calls map[string]*call
	// step names the running step and its attempt; empty for none.
	step string
	// text and thinking are the messages of the running step.
	text, thinking *message
}

// message is a message that the client is shown, in the form that a snapshot of all messages has.
type message struct {
	ID       string `json:"id"`
	Role     string `json:"role"`
	Subagent string `json:"subagentRunId,omitempty"`
	// Sent is what the client has of the text.
	Sent string `json:"content"`
	// Of is the call that it is the result of.
	Of    string  `json:"toolCallId,omitempty"`
	Calls []*call `json:"toolCalls,omitempty"`
	// kind begins the types of the message's events.
	kind string
	// shown is set once the client has the message, open while more may come.
	shown, open bool
}

// call is a tool call. Models repeat their ids from answer to answer, and a client needs one for each call.
type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name string `json:"name"`
		Args string `json:"arguments"`
	} `json:"function"`

	raw, sub string
	// open says that more of its arguments may come, final that the whole answer has it.
	open, final bool
}

// nth names one of several that have the same name.
func nth(name string, n int) string {
	if n > 1 {
		name += "." + strconv.Itoa(n)
	}
	return name
}

// begin makes a scope ready for an answer.
func (s *scope) begin(step string) {
	s.text = &message{ID: step, Role: "assistant", Subagent: s.sub, kind: "TEXT_MESSAGE"}
	s.thinking = &message{ID: step + "/thinking", Role: "reasoning", Subagent: s.sub, kind: "REASONING_MESSAGE"}
	s.step = step
}

// scope finds an agent's thread of work. A subagent that no event opened counts as the run's own agent.
func (enc *Encoder) scope(a *story.Agent) *scope {
	if s, ok := a.Own.Wire.(*scope); ok {
		return s
	}
	i := slices.IndexFunc(enc.scopes, func(s *scope) bool { return s.id == a.ID })
	if i < 0 {
		i = len(enc.scopes)
		enc.scopes = append(enc.scopes, &scope{id: a.ID, calls: map[string]*call{}})
		enc.scopes[i].begin("")
	}
	a.Own.Wire = enc.scopes[i]
	return enc.scopes[i]
}

// opened announces a subagent. If its call is made again, it has the same scope and is another invocation.
func (enc *Encoder) opened(a *story.Agent, run string, b *event.ScopeOpened) {
	s, parent := enc.scope(a), enc.scope(a.Parent)
	enc.end(s, nil, nil)
	enc.scopes = append(slices.DeleteFunc(enc.scopes, func(o *scope) bool { return o == s }), s)
	s.invoked++
	s.sub = nth(run+"/"+a.ID, s.invoked)
	s.begin("")
	s.begins = &frame{
		Type: "SUBAGENT_STARTED", Subagent: s.sub, Name: a.Agent, ParentSub: parent.sub, ParentCall: parent.callID(b.Call),
	}
	enc.send(s.begins)
}

// settle closes what is open, because the run ends. how is the outcome of its subagents; nil if they are done.
func (enc *Encoder) settle(how *outcome) {
	for _, s := range slices.Backward(enc.scopes) {
		enc.end(s, how, nil)
	}
}

// end ends a scope with an outcome, nil if it is done, or with an error.
func (enc *Encoder) end(s *scope, how *outcome, err *event.Error) {
	enc.closeAll(s)
	f := &frame{Type: "SUBAGENT_FINISHED", Subagent: s.sub, Outcome: how}
	if err != nil {
		f.Type = "SUBAGENT_ERROR"
		f.fail(err)
	}
	if s.sub != "" {
		enc.send(f)
	}
	s.sub, s.begins = "", nil
	s.begin("")
}

// say sends a piece of a message, and begins the message with its first one.
func (enc *Encoder) say(s *scope, m *message, text string) {
	if text == "" {
		return
	}
	if m.Role != "reasoning" {
		enc.close(s.thinking)
	}
	if !m.open {
		if m.Role == "reasoning" {
			enc.send(&frame{Type: "REASONING_START", Subagent: m.Subagent, Message: m.ID})
		}
		enc.send(&frame{Type: m.kind + "_START", Subagent: m.Subagent, Message: m.ID, Role: m.Role})
		m.open = true
		enc.show(m)
	}
	m.Sent += text
	enc.send(&frame{Type: m.kind + "_CONTENT", Subagent: m.Subagent, Message: m.ID, Delta: text})
}

// show counts a message among those that the client has.
func (enc *Encoder) show(m *message) {
	if !m.shown {
		m.shown = true
		enc.messages = append(enc.messages, m)
	}
}

// close ends a message that is open.
func (enc *Encoder) close(m *message) {
	if !m.open {
		return
	}
	m.open = false
	enc.send(&frame{Type: m.kind + "_END", Subagent: m.Subagent, Message: m.ID})
	if m.Role == "reasoning" {
		enc.send(&frame{Type: "REASONING_END", Subagent: m.Subagent, Message: m.ID})
	}
}

// closeAll ends the messages and the calls of a scope's step.
func (enc *Encoder) closeAll(s *scope) {
	enc.close(s.thinking)
	for _, c := range s.text.Calls {
		enc.endCall(c)
	}
	enc.close(s.text)
}

// call finds a call of the step in flight, or begins it.
func (enc *Encoder) call(s *scope, id, name string) *call {
	if i := slices.IndexFunc(s.text.Calls, func(c *call) bool { return c.raw == id }); i >= 0 {
		return s.text.Calls[i]
	}
	enc.close(s.thinking)
	enc.show(s.text) // the message that holds the call, also where it has no text
	c := &call{ID: s.text.ID + "/" + id, Type: "function", raw: id, sub: s.sub, open: true}
	c.Function.Name = name
	s.text.Calls = append(s.text.Calls, c)
	s.calls[id] = c
	enc.send(&frame{Type: "TOOL_CALL_START", Subagent: c.sub, Call: c.ID, Tool: name, Parent: s.text.ID})
	return c
}

// callID returns the client's name of a call.
func (s *scope) callID(id string) string {
	if c := s.calls[id]; c != nil {
		return c.ID
	}
	return id
}

func (enc *Encoder) args(c *call, json string) {
	if json != "" && c.open {
		c.Function.Args += json
		enc.send(&frame{Type: "TOOL_CALL_ARGS", Subagent: c.sub, Call: c.ID, Delta: json})
	}
}

func (enc *Encoder) endCall(c *call) {
	if c.open {
		c.open = false
		enc.send(&frame{Type: "TOOL_CALL_END", Subagent: c.sub, Call: c.ID})
	}
}

// rest sends what of a text was not streamed. It reports whether the client has all of it then.
func (enc *Encoder) rest(s *scope, m *message, text string) bool {
	rest, ok := strings.CutPrefix(text, m.Sent)
	if ok {
		enc.say(s, m, rest)
	}
	return ok
}

// answered sends what of an answer was not streamed, and ends it. If the answer is not as it was streamed, because a
// secret in it or a hook has changed it, all messages are sent anew.
func (enc *Encoder) answered(s *scope, it *story.Item, b *event.AssistantMessage) {
	text, thinking := it.Answer.Text(), it.Answer.Thinking()
	same := enc.rest(s, s.thinking, thinking)
	same = enc.rest(s, s.text, text) && same
	for _, final := range event.CallsOf(b.Content) {
		c := enc.call(s, final.ID, final.Name)
		args := string(final.Args)
		if rest, ok := strings.CutPrefix(args, c.Function.Args); ok {
			enc.args(c, rest)
		} else if !strictjson.Same(final.Args, []byte(c.Function.Args)) {
			same, c.Function.Args = false, args
		}
		c.final = true
		enc.endCall(c)
	}
	if b.Piece {
		return
	}
	enc.closeAll(s)
	n := len(s.text.Calls)
	s.text.Calls = slices.DeleteFunc(s.text.Calls, func(c *call) bool { return !c.final })
	if !same || len(s.text.Calls) < n {
		s.text.Sent, s.thinking.Sent = text, thinking
		enc.allMessages()
	}
	s.begin("")
}

// withdraw takes back what a step has said that gave no answer.
func (enc *Encoder) withdraw(s *scope) {
	enc.closeAll(s)
	if s.text.shown || s.thinking.shown {
		s.thinking.Sent = "" // a client keeps reasoning that a snapshot leaves out
		enc.messages = slices.DeleteFunc(enc.messages, func(m *message) bool { return m == s.text })
		enc.allMessages()
	}
	s.begin("")
}

// stepEnded ends a model's step that gave no answer, or sends the result of a call.
func (enc *Encoder) stepEnded(s *scope, b *event.StepEnded) {
	switch {
	case b.Step == event.StepModel && b.Outcome == event.OutcomeCancelled:
		enc.closeAll(s) // people have seen it, and it stays
		s.begin("")
	case b.Step == event.StepModel:
		enc.withdraw(s)
	case b.Result != nil:
		text := cmp.Or(event.RawText(b.Result.Content), string(b.Result.Structured))
		id := s.callID(b.Result.Call)
		m := &message{ID: id + "/result", Role: "tool", Subagent: s.sub, Of: id, Sent: text}
		enc.show(m)
		f := &frame{Type: "TOOL_CALL_RESULT", Subagent: s.sub, Message: m.ID, Call: id, Content: &text, Role: m.Role}
		if b.Result.IsError {
			f.Metadata = map[string]any{"isError": true}
		}
		enc.send(f)
	}
}

// allMessages sends all messages anew, and blank ones behind them.
func (enc *Encoder) allMessages(blank ...*message) {
	all := []any{}
	for _, raw := range enc.Messages {
		all = append(all, raw)
	}
	for _, m := range slices.Concat(enc.messages, blank) {
		all = append(all, m)
	}
	enc.send(&frame{Type: "MESSAGES_SNAPSHOT", Messages: all})
}

// clear takes the run's own messages out of those that the client has. If it has some that come again, because it was cut
// off and has sent the same run once more, they are taken back first: it would join them to what it has.
func (enc *Encoder) clear(run string) {
	var blank []*message
	again := false
	enc.Messages = slices.DeleteFunc(enc.Messages, func(raw json.RawMessage) bool {
		var m message
		_ = json.Unmarshal(raw, &m) // a client's own message may have another form, and then it keeps its place
		own := strings.HasPrefix(m.ID, run+"/")
		if !own || slices.ContainsFunc(enc.messages, func(shown *message) bool { return shown.ID == m.ID }) {
			return own
		}
		again = true
		if m.Role == "reasoning" { // a client keeps reasoning that a snapshot leaves out
			blank = append(blank, &message{ID: m.ID, Role: m.Role})
		}
		return true
	})
	if again {
		enc.allMessages(blank...)
	}
}
