package wiretest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
)

// Secret stands in everything that no client may be sent.
const Secret = "for the operator alone"

// Name is the id of the conversations that are made.
const Name = "c1"

// Conversation generates a conversation: runs one after another, and in each
// answers in one piece and in several, failed and lost attempts, tools in
// parallel, agents as tools, agents of a flow, questions, messages, and every end. Durable events
// are numbered without gaps, live ones from 1 in each epoch. Events for the
// operator hold [Secret].
func Conversation() *rapid.Generator[[]event.Event] {
	return rapid.Custom(func(t *rapid.T) []event.Event {
		w := &writer{t: t, epoch: 1}
		for turn := range rapid.IntRange(1, 3).Draw(t, "runs") {
			w.run(turn + 1)
		}
		return w.events
	})
}

// writer makes events in order.
type writer struct {
	t        *rapid.T
	events   []event.Event
	name     string
	seq      int64
	epoch, n int64
	session  int
	calls    int
}

// thread is what a scope says: events that are numbered when they are written.
type thread []event.Event

func (w *writer) yes(what string) bool { return rapid.IntRange(0, 2).Draw(w.t, what) == 0 }

func (w *writer) text() string {
	return rapid.SampledFrom([]string{"a", "b ", "\n", "日本", "é🙂", "\"\\", "a long stretch of text ", "\r\ndata: x\n\n"}).Draw(w.t, "text")
}

// write numbers events and adds them.
func (w *writer) write(list ...event.Event) {
	for _, e := range list {
		e.Conversation, e.Run = Name, w.name
		e.Time = time.Date(2026, 11, 20, 12, 0, len(w.events)%60, 0, time.UTC)
		if e.Live() {
			w.n++
			e.Epoch, e.N = w.epoch, w.n
		} else {
			w.seq++
			e.Seq = w.seq
		}
		w.events = append(w.events, e)
	}
}

func (w *writer) run(turn int) {
	w.name = "r" + strconv.Itoa(turn)
	w.takeOver()
	if w.session == 0 || w.yes("new session") {
		w.session++
	}
	w.write(
		event.Event{Body: &event.RunStarted{
			Agent: "main", Model: "m", Turn: turn, Session: w.session, Tools: []string{"look", "helper"},
			Metadata: map[string]string{"mine": "1", "braid.options": Secret},
		}},
		event.Event{Header: event.Header{Author: event.UserAuthor}, Body: &event.UserMessage{Content: says(w.text())}},
	)
	end := &event.RunEnded{Status: event.RunCompleted, Stop: event.StopEndTurn, Why: event.WhyEndTurn}
	s := &scope{w: w, prefix: "", agent: "main"}
	for range rapid.IntRange(0, 2).Draw(w.t, "cycles with tools") {
		w.write(s.answer(true)...)
		w.tools(s)
		end.Cycles++
		if w.yes("a message") {
			w.write(event.Event{Header: event.Header{Author: event.UserAuthor}, Body: &event.UserMessage{
				Content: says(w.text()), Mail: "mail" + strconv.Itoa(len(w.events)),
			}})
		}
		if w.yes("takeover") {
			w.takeOver()
		}
	}
	w.parts(s)
	switch rapid.IntRange(0, 5).Draw(w.t, "end") {
	case 0:
		w.write(s.cut(event.OutcomeFailed)...)
		end.Status, end.Why, end.Stop = event.RunFailed, event.WhyFailed, event.StopError
		end.Err = &event.Error{Kind: event.ErrModel, Message: "the provider gave up"}
	case 1:
		w.write(s.cut(event.OutcomeCancelled)...)
		end.Status, end.Why, end.Stop = event.RunCancelled, event.WhyDeadline, event.StopTimeout
		end.Err = &event.Error{Kind: event.ErrTimeout, Message: "the time was over"}
	case 2:
		w.write(s.cut(event.OutcomeCancelled)...)
		end.Status, end.Why, end.Stop = event.RunCancelled, event.WhyCancelled, event.StopCancelled
	case 3:
		end.Why, end.Stop = event.WhyLimit, event.StopLimitCycles
		end.Err = &event.Error{Kind: event.ErrLimit, Message: "as many cycles as it may"}
	case 4:
		w.write(s.cut(event.OutcomeFailed)...)
		end.Status, end.Why, end.Stop = event.RunFailed, event.WhyFailed, event.StopError
		end.Err = &event.Error{Kind: event.ErrInternal, Message: Secret}
	default:
		w.write(s.answer(false)...)
		end.Cycles++
	}
	w.write(event.Event{Body: end})
}

func (w *writer) takeOver() { w.epoch, w.n = w.epoch+1, 0 }

// tools runs the calls of the scope's last answer, all at once.
func (w *writer) tools(s *scope) {
	var threads []thread
	for _, c := range s.calls {
		if c.Name == "helper" {
			threads = append(threads, s.helper(c))
		} else {
			threads = append(threads, s.tool(c))
		}
	}
	w.mix(threads)
}

// mix writes threads that go on side by side.
func (w *writer) mix(threads []thread) {
	for len(threads) > 0 {
		i := rapid.IntRange(0, len(threads)-1).Draw(w.t, "who goes on")
		if len(threads[i]) == 0 {
			threads = slices.Delete(threads, i, i+1)
			continue
		}
		w.write(threads[i][0])
		threads[i] = threads[i][1:]
	}
}

// parts runs agents that no call waits for, as a flow opens them: all at once.
func (w *writer) parts(s *scope) {
	var threads []thread
	for range rapid.IntRange(0, 2).Draw(w.t, "parts") {
		s.opened++
		threads = append(threads, s.part("f"+strconv.Itoa(s.opened)))
	}
	w.mix(threads)
}

// scope makes the events of one agent's thread of work.
type scope struct {
	w             *writer
	prefix, agent string
	cycle         int
	calls         []*event.ToolCall
	// opened counts the scopes that were opened without a call.
	opened int
}

func (s *scope) event(step string, attempt int, body event.Body) event.Event {
	e := event.Event{Header: event.Header{Cycle: s.cycle, Step: step, Attempt: attempt, Author: s.agent}, Body: body}
	if s.prefix != "" {
		e.Scope = s.prefix[:len(s.prefix)-1]
	}
	return e
}

// deltas streams an answer, block by block.
func (s *scope) deltas(step string, attempt int) (all thread, content []event.Block) {
	w := s.w
	for block := range rapid.IntRange(0, 3).Draw(w.t, "blocks") {
		thinks := w.yes("thinks")
		var said strings.Builder
		streamed := !w.yes("not streamed")
		for range rapid.IntRange(1, 4).Draw(w.t, "pieces") {
			piece := w.text()
			said.WriteString(piece)
			switch {
			case !streamed:
			case thinks:
				all = append(all, s.event(step, attempt, &event.ThinkingDelta{Text: piece, Block: block}))
			default:
				all = append(all, s.event(step, attempt, &event.TextDelta{Text: piece, Block: block}))
			}
			if w.yes("for the operator") {
				e := s.event(step, attempt, &event.TextDelta{Text: Secret, Block: 90})
				e.Audience = event.Operator
				all = append(all, e)
			}
		}
		if thinks {
			content = append(content, &event.Thinking{Text: said.String()})
		} else {
			content = append(content, &event.Text{Text: said.String()})
		}
		if !streamed { // what comes after it would not join on
			break
		}
	}
	return all, content
}

func (s *scope) begin() string {
	s.cycle++
	return s.prefix + "m" + strconv.Itoa(s.cycle)
}

// attempts makes attempts that give no message; the last one is left to the caller.
func (s *scope) attempts(step string) (all thread, last int) {
	w := s.w
	last = 1
	for s.prefix == "" && last < 3 && w.yes("the attempt fails") {
		all = append(all, s.event(step, last, &event.StepBegun{Step: event.StepModel, Why: event.WhyInput}))
		deltas, _ := s.deltas(step, last)
		all = append(all, deltas...)
		ended := &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeLost, UsageUnknown: true}
		if w.yes("throttled") {
			ended.Outcome = event.OutcomeFailed
			ended.Err = &event.Error{Kind: event.ErrThrottled, Message: "too many requests"}
			ended.RetryAt = time.Date(2026, 11, 20, 12, 5, 0, 0, time.UTC)
		}
		all = append(all, s.event(step, last, ended))
		last++
	}
	return append(all, s.event(step, last, &event.StepBegun{Step: event.StepModel, Why: event.WhyInput})), last
}

// answer is a model step that ends with a message.
func (s *scope) answer(tools bool) thread {
	w := s.w
	step := s.begin()
	all, attempt := s.attempts(step)
	deltas, content := s.deltas(step, attempt)
	all = append(all, deltas...)
	s.calls = nil
	m := &event.AssistantMessage{Stop: event.StopEndTurn, Model: "m", Usage: event.Usage{Input: 10, Output: 5, Total: 15}}
	if tools {
		m.Stop = event.StopToolUse
		for range rapid.IntRange(1, 3).Draw(w.t, "calls") {
			w.calls++
			c := &event.ToolCall{ID: "call" + strconv.Itoa(w.calls), Name: "look", Args: json.RawMessage("{\n \"at\": 1}")}
			if s.prefix == "" && w.yes("helper") {
				c.Name = "helper"
			}
			s.calls = append(s.calls, c)
			content = append(content, c)
		}
	}
	if len(content) > 1 && w.yes("in pieces") {
		n := rapid.IntRange(1, len(content)).Draw(w.t, "first piece")
		all = append(all, s.event(step, attempt, &event.AssistantMessage{Content: content[:n], Model: "m", Piece: true}))
		content = content[n:]
	}
	m.Content = content
	return append(all, s.event(step, attempt, m))
}

// cut is a model step that ends without one.
func (s *scope) cut(outcome event.Outcome) thread {
	step := s.begin()
	all, attempt := s.attempts(step)
	deltas, _ := s.deltas(step, attempt)
	return append(append(all, deltas...), s.event(step, attempt, &event.StepEnded{Step: event.StepModel, Outcome: outcome}))
}

// tool is a tool call, which may ask first.
func (s *scope) tool(c *event.ToolCall) thread {
	w := s.w
	step := s.prefix + "t" + c.ID
	attempt := 1
	begun := &event.StepBegun{Step: event.StepTool, Call: c.ID, Tool: c.Name}
	all := thread{s.event(step, attempt, begun)}
	if w.yes("asks") {
		all = append(all,
			s.event(step, attempt, &event.Asked{Token: "q" + c.ID, Ask: event.AskApproval, Prompt: "Sure?", Call: c.ID, Tool: c.Name, Args: c.Args}),
			s.event(step, attempt, &event.Answered{Token: "q" + c.ID, Value: json.RawMessage(`"` + Secret + `"`), By: "ann"}),
			s.event(step, attempt+1, begun))
		attempt++
	}
	for range rapid.IntRange(0, 2).Draw(w.t, "progress") {
		all = append(all, s.event(step, attempt, &event.ToolProgress{Call: c.ID, Tool: c.Name, Text: w.text()}))
	}
	ended := &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeDone, Result: &event.ToolResult{
		Call: c.ID, Name: c.Name, Content: says(w.text()),
	}}
	switch rapid.IntRange(0, 3).Draw(w.t, "result") {
	case 0:
		ended.Outcome, ended.Result.IsError = event.OutcomeInDoubt, true
	case 1:
		ended.Result.IsError = true
		ended.Err = &event.Error{Kind: event.ErrInternal, Message: Secret}
	case 2:
		ended.Result.Content, ended.Result.Structured = nil, json.RawMessage(`{"n": 8}`)
	}
	return append(all, s.event(step, attempt, ended))
}

// helper is an agent that is used as a tool.
func (s *scope) helper(c *event.ToolCall) thread {
	step := s.prefix + "t" + c.ID
	child := &scope{w: s.w, prefix: step + "/", agent: "helper"}
	all := thread{s.event(step, 1, &event.StepBegun{Step: event.StepTool, Call: c.ID, Tool: c.Name})}
	opened := child.event("", 0, &event.ScopeOpened{ID: step, Call: c.ID, Agent: "helper", Depth: 1, Input: says("look")})
	all = append(all, opened)
	if s.w.yes("the helper looks") {
		all = append(all, child.answer(true)...)
		for _, c := range child.calls {
			all = append(all, child.tool(c)...)
		}
	}
	all = append(all, child.answer(false)...)
	all = append(all, child.event("", 0, &event.ScopeClosed{ID: step, Output: says("done"), Stop: event.StopEndTurn}))
	return append(all, s.event(step, 1, &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeDone, Result: &event.ToolResult{
		Call: c.ID, Name: c.Name, Content: says("done"),
	}}))
}

// part is an agent that works for a flow.
func (s *scope) part(id string) thread {
	child := &scope{w: s.w, prefix: id + "/", agent: "part"}
	all := thread{s.event("", 0, &event.ScopeOpened{ID: id, Node: "node", Agent: "part", Depth: 1, Input: says("look")})}
	if s.w.yes("the part looks") {
		all = append(all, child.answer(true)...)
		for _, c := range child.calls {
			all = append(all, child.tool(c)...)
		}
	}
	all = append(all, child.answer(false)...)
	return append(all, child.event("", 0, &event.ScopeClosed{ID: id, Output: says("done"), Stop: event.StopEndTurn}))
}

func says(text string) []event.Block { return []event.Block{&event.Text{Text: text}} }
