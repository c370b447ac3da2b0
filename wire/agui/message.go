package agui

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/wire/story"
)

// scope is an agent's thread of work. AG-UI calls one that is not the run's own a subagent.
type scope struct {
	id, agent, parent, parentCall string
	// sub is the name of the invocation; empty for the run's own agent.
	sub string
	// step names the step in flight and its attempt; empty for none.
	step string
	// text and thinking are the messages that the step in flight gives.
	text, thinking *message
	calls          []*call
}

// message is a message that the client is shown.
type message struct {
	id, role, sub string
	// of is the call that it is the result of.
	of string
	// sent is what the client has of the text.
	sent  string
	calls []*call
	// shown says that the client has the message, open that more may come.
	shown, open bool
}

// call is a tool call. Models repeat their ids from answer to answer, and a client needs one for each call.
type call struct {
	id, raw, name, sub, args string
	// open says that more of its arguments may come, final that the whole answer has it.
	open, final bool
}

// at begins a step's answer, unless it is the one in flight. What another one has left is taken back.
func (enc *Encoder) at(s *scope, h *event.Header) {
	step := h.Run + "/" + h.Step
	if h.Attempt > 1 {
		step += "." + strconv.Itoa(h.Attempt)
	}
	if s.step != step {
		enc.withdraw(s)
		s.begin(step)
	}
}

// begin makes a scope ready for an answer.
func (s *scope) begin(step string) {
	s.text = &message{id: step, role: "assistant", sub: s.sub}
	s.thinking = &message{id: step + "/thinking", role: "reasoning", sub: s.sub}
	s.step, s.calls = step, nil
}

// scope finds an agent's thread of work. The events of one that was not opened are the run's own.
func (enc *Encoder) scope(a *story.Agent) *scope {
	s, ok := a.Own.Wire.(*scope)
	if !ok {
		s = &scope{id: a.ID}
		s.begin("")
		a.Own.Wire = s
		enc.scopes = append(enc.scopes, s)
	}
	return s
}

// opened announces a sub-agent. One whose call is made again has the same scope, and is another invocation.
func (enc *Encoder) opened(it *story.Item) {
	a := it.Opened
	enc.closed(a.ID, nil)
	s := enc.scope(a)
	s.sub, s.agent = it.Run.ID+"/"+a.ID, a.Agent
	if enc.invoked == nil {
		enc.invoked = map[string]int{}
	}
	if enc.invoked[s.sub]++; enc.invoked[s.sub] > 1 {
		s.sub += "." + strconv.Itoa(enc.invoked[s.sub])
	}
	s.begin("")
	s.parent = enc.scope(a.Parent).sub
	if b, ok := it.Event.Body.(*event.ScopeOpened); ok {
		s.parentCall = enc.callID(b.Call)
	}
	enc.announce(s)
}

func (enc *Encoder) announce(s *scope) {
	enc.send(&frame{Type: "SUBAGENT_STARTED", Subagent: s.sub, Name: s.agent, ParentSub: s.parent, ParentCall: s.parentCall})
}

// closed ends a sub-agent's part in the run.
func (enc *Encoder) closed(id string, err *event.Error) {
	i := slices.IndexFunc(enc.scopes, func(s *scope) bool { return s.id == id })
	if id == "" || i < 0 {
		return
	}
	s := enc.scopes[i]
	enc.closeAll(s)
	enc.scopes = slices.Delete(enc.scopes, i, i+1)
	switch {
	case s.sub == "":
	case err != nil:
		enc.send((&frame{Type: "SUBAGENT_ERROR", Subagent: s.sub}).fail(err))
	default:
		enc.send(&frame{Type: "SUBAGENT_FINISHED", Subagent: s.sub})
	}
}

// settle closes what is open, as the end of a run asks for; how says why sub-agents end.
func (enc *Encoder) settle(how string) {
	for _, s := range slices.Backward(enc.scopes) {
		enc.closeAll(s)
		if s.sub == "" {
			continue
		}
		f := &frame{Type: "SUBAGENT_FINISHED", Subagent: s.sub}
		if how != "" {
			f.Outcome = &outcome{Type: how}
		}
		enc.send(f)
	}
}

// say sends a piece of a message, and begins the message with its first one.
func (enc *Encoder) say(s *scope, m *message, text string) {
	if text == "" {
		return
	}
	kind := "TEXT_MESSAGE"
	if m.role == "reasoning" {
		kind = "REASONING_MESSAGE"
	} else {
		enc.close(s.thinking)
	}
	if !m.open {
		if m.role == "reasoning" {
			enc.send(&frame{Type: "REASONING_START", Subagent: m.sub, Message: m.id})
		}
		enc.send(&frame{Type: kind + "_START", Subagent: m.sub, Message: m.id, Role: m.role})
		m.open = true
		enc.show(m)
	}
	m.sent += text
	enc.send(&frame{Type: kind + "_CONTENT", Subagent: m.sub, Message: m.id, Delta: text})
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
	switch {
	case !m.open:
	case m.role == "reasoning":
		enc.send(&frame{Type: "REASONING_MESSAGE_END", Subagent: m.sub, Message: m.id})
		enc.send(&frame{Type: "REASONING_END", Subagent: m.sub, Message: m.id})
	default:
		enc.send(&frame{Type: "TEXT_MESSAGE_END", Subagent: m.sub, Message: m.id})
	}
	m.open = false
}

// closeAll ends the messages and the calls of a scope's step.
func (enc *Encoder) closeAll(s *scope) {
	enc.close(s.thinking)
	for _, c := range s.calls {
		enc.endCall(c)
	}
	enc.close(s.text)
}

// call finds a call of the step in flight, or begins it.
func (enc *Encoder) call(s *scope, id, name string) *call {
	for _, c := range s.calls {
		if c.raw == id {
			return c
		}
	}
	enc.close(s.thinking)
	enc.show(s.text) // the message that holds the call, also where it has no text
	c := &call{id: s.text.id + "/" + id, raw: id, name: name, sub: s.sub, open: true}
	s.calls, s.text.calls = append(s.calls, c), append(s.text.calls, c)
	if enc.calls == nil {
		enc.calls = map[string]*call{}
	}
	enc.calls[id] = c
	enc.send(&frame{Type: "TOOL_CALL_START", Subagent: c.sub, Call: c.id, Tool: name, Parent: s.text.id})
	return c
}

// callID returns the client's name of a call.
func (enc *Encoder) callID(id string) string {
	if c := enc.calls[id]; c != nil {
		return c.id
	}
	return id
}

func (enc *Encoder) args(c *call, json string) {
	if json != "" && c.open {
		c.args += json
		enc.send(&frame{Type: "TOOL_CALL_ARGS", Subagent: c.sub, Call: c.id, Delta: json})
	}
}

func (enc *Encoder) endCall(c *call) {
	if c.open {
		c.open = false
		enc.send(&frame{Type: "TOOL_CALL_END", Subagent: c.sub, Call: c.id})
	}
}

// rest sends what of a text was not streamed. It reports whether the client has all of it then.
func (enc *Encoder) rest(s *scope, m *message, text string) bool {
	rest, ok := strings.CutPrefix(text, m.sent)
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
		if rest, ok := strings.CutPrefix(args, c.args); ok {
			enc.args(c, rest)
		} else if !strictjson.Same(final.Args, []byte(c.args)) {
			same, c.args = false, args
		}
		c.final = true
		enc.endCall(c)
	}
	if b.Piece {
		return
	}
	enc.closeAll(s)
	n := len(s.text.calls)
	s.text.calls = slices.DeleteFunc(s.text.calls, func(c *call) bool { return !c.final })
	if !same || len(s.text.calls) < n {
		s.text.sent, s.thinking.sent = text, thinking
		enc.allMessages()
	}
	s.begin("")
}

// withdraw takes back what a step has said that gave no answer.
func (enc *Encoder) withdraw(s *scope) {
	enc.closeAll(s)
	if s.text.shown || s.thinking.shown {
		s.thinking.sent = "" // a client keeps reasoning that a snapshot leaves out
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
		text := event.TextOf(b.Result.Content)
		if text == "" {
			text = string(b.Result.Structured)
		}
		id := enc.callID(b.Result.Call)
		m := &message{id: id + "/result", role: "tool", sub: s.sub, of: id, sent: text}
		enc.show(m)
		f := &frame{Type: "TOOL_CALL_RESULT", Subagent: s.sub, Message: m.id, Call: id, Content: &text, Role: m.role}
		if b.Result.IsError {
			f.Metadata = map[string]any{"isError": true}
		}
		enc.send(f)
	}
}

// allMessages sends all messages anew.
func (enc *Encoder) allMessages() {
	all := []any{}
	for _, raw := range enc.Messages {
		all = append(all, raw)
	}
	for _, m := range enc.messages {
		w := &whole{ID: m.id, Role: m.role, Subagent: m.sub, Of: m.of, Content: &m.sent}
		for _, c := range m.calls {
			wc := wholeCall{ID: c.id, Type: "function"}
			wc.Function.Name, wc.Function.Args = c.name, c.args
			w.Calls = append(w.Calls, wc)
		}
		all = append(all, w)
	}
	enc.send(&frame{Type: "MESSAGES_SNAPSHOT", Messages: &all})
}

// clear takes the run's own messages out of those that the client has. If it has some that come again, because it was cut
// off and has sent the same run once more, they are taken back first: it would join them to what it has.
func (enc *Encoder) clear(run string) {
	var again []*message
	enc.Messages = slices.DeleteFunc(enc.Messages, func(raw json.RawMessage) bool {
		var m struct {
			ID   string `json:"id"`
			Role string `json:"role"`
		}
		if json.Unmarshal(raw, &m) != nil || !strings.HasPrefix(m.ID, run+"/") {
			return false
		}
		if !slices.ContainsFunc(enc.messages, func(own *message) bool { return own.id == m.ID }) {
			again = append(again, &message{id: m.ID, role: m.Role})
		}
		return true
	})
	if len(again) == 0 {
		return
	}
	n := len(enc.messages)
	for _, m := range again {
		if m.role == "reasoning" { // a client keeps reasoning that a snapshot leaves out
			enc.messages = append(enc.messages, m)
		}
	}
	enc.allMessages()
	enc.messages = enc.messages[:n]
}
