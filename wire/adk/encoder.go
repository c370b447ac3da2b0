package adk

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/internal/userdata"
	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/story"
)

// Wire is ADK's, with streaming.
var Wire = wire.Wire{
	Name: "adk", ContentType: "text/event-stream",
	Open: func(s wire.Start) wire.Encoder { return &Encoder{Run: s.Run, Streaming: true} },
}

// Encoder writes the story of a conversation as events of ADK, each one frame. It is used by one goroutine at a time.
//
// What belongs to an answer's calls, their results and the changes that their tools made, becomes one event after the last of
// them. The agents that work for a call are not shown, as in ADK: their result is, and what they ask.
type Encoder struct {
	// Run is the only run that is shown; empty for all.
	Run string
	// Streaming sends the pieces of answers as they come.
	Streaming bool
	// List writes the elements of a JSON array without its brackets instead of frames, and what the user said too, as the events
	// of a session have it. Live leaves that out.
	List, Live bool

	dst []byte
	// last is the Seq of the last event that was told, and flushed says that the results which it left open were told too.
	last    int64
	flushed bool
	// skipping is set while items are taken in that the reader has, unnamed while frames of an item are followed by others.
	skipping, unnamed bool
	// told says that the reader has the results that the next event of the log would have sent.
	told bool
	// asked has the questions by their tokens.
	asked map[string]event.QuestionKind
	// threads are those of the agents that are shown.
	threads []*thread
}

// thread is what an encoder keeps for an agent in a run.
type thread struct {
	run, agent string
	// answer is the id of the newest answer's events; begun is when its step began.
	answer string
	begun  time.Time
	// calls are the calls of the answer in flight that the reader knows.
	calls []string
	// text and thinking are what was sent of it.
	text, thinking story.Streamed
	// silent says that no pieces are sent before the answer ends.
	silent bool

	// head is that of the first result that waits, and results are those that wait.
	head    event.Header
	results []*event.ToolResult
	actions Actions
	waits   bool
	// sent counts the events that had results of the answer.
	sent int
}

// Append appends what an item gives: any number of events.
func (enc *Encoder) Append(dst []byte, it *story.Item) []byte {
	enc.dst = dst
	th, hidden := enc.thread(it.Agent, it.Head())
	if it.Snapshot != nil {
		if it.Answer != nil && !hidden {
			enc.snapshot(th, it)
		}
		return enc.taken()
	}
	e := it.Event
	if th.waits && !hidden && !adds(e) {
		enc.flush(th)
	}
	if !it.Event.Live() {
		enc.last, enc.flushed, enc.told = it.Last, false, false
	}
	if step, ok := e.Body.(*event.StepBegun); ok && step.Step == event.StepModel && !hidden {
		th.begin(e)
		th.silent = enc.skipping // what the reader has of it is not known
	}
	switch {
	case hidden:
		enc.below(th, it)
	case !it.Gap():
		enc.event(th, it)
	}
	return enc.taken()
}

// adds reports whether an event belongs to the results of an answer's calls.
func adds(e *event.Event) bool {
	switch b := e.Body.(type) {
	case *event.StateChanged, *event.ArtifactSaved, *event.Transferred, *event.Escalated:
		return e.Step != ""
	case *event.StepEnded:
		return b.Step == event.StepTool
	case *event.StepBegun:
		return b.Step == event.StepTool
	case *event.ToolProgress, *event.Asked, *event.Answered, *event.Notice, *event.Redacted:
		return true
	}
	return e.Audience != event.Everyone
}

// thread finds what is kept for an agent. If the agent works for a call, it is that of the agent that asked.
func (enc *Encoder) thread(a *story.Agent, h *event.Header) (th *thread, hidden bool) {
	author := h.Author
	for a.Call != "" && a.Parent != nil {
		a, hidden, author = a.Parent, true, ""
	}
	th, ok := a.Own.Wire.(*thread)
	if !ok || th.run != h.Run {
		th = &thread{run: h.Run}
		a.Own.Wire = th
		enc.threads = append(enc.threads, th)
	}
	if author == UserAuthor {
		author = ""
	}
	th.agent = cmp.Or(a.Agent, th.agent, author)
	return th, hidden || a.Call != ""
}

// begin makes a thread ready for an answer.
func (th *thread) begin(e *event.Event) {
	id := nth(e.Run+"/"+e.Step, e.Attempt)
	*th = thread{
		run: th.run, agent: th.agent, answer: id, begun: e.Time, head: th.head, results: th.results, actions: th.actions, waits: th.waits,
	}
}

// named gives an answer an id whose beginning the stream did not see.
func (th *thread) named(e *event.Event) {
	if th.answer != nth(e.Run+"/"+e.Step, e.Attempt) {
		th.begin(e)
	}
}

// nth names one of several that have the same name.
func nth(name string, n int) string {
	if n > 1 {
		name += "." + strconv.Itoa(n)
	}
	return name
}

// event sends what an event of an agent that is shown gives.
func (enc *Encoder) event(th *thread, it *story.Item) {
	e := it.Event
	switch b := e.Body.(type) {
	case *event.UserMessage:
		if enc.List && !enc.Live && b.Why == "" {
			enc.content(e, UserAuthor, roleUser, b.Content)
		}
	case *event.TextDelta:
		enc.piece(th, it, b.Text, false)
	case *event.ThinkingDelta:
		enc.piece(th, it, b.Text, true)
	case *event.ToolInputDelta:
		enc.beginsCall(th, it, b)
	case *event.AnswerReplaced:
		th.silent = true
	case *event.AssistantMessage:
		if !b.Piece {
			enc.answered(th, it, b)
		}
	case *event.StepEnded:
		enc.ended(th, it, b)
	case *event.StateChanged, *event.ArtifactSaved, *event.Transferred, *event.Escalated:
		enc.act(th, it)
	case *event.ScopeClosed:
		if it.Closed != nil {
			if of, ok := it.Closed.Own.Wire.(*thread); ok {
				enc.flush(of)
			}
		}
	case *event.Asked:
		enc.ask(th, it, b)
	case *event.Answered:
		enc.answer(e, b)
	case *event.Fault:
		enc.fault(e, th.agent, b.Err)
	case *event.RunEnded:
		enc.runEnded(th, it, b)
	}
}

// below sends what an agent gives that works for a call: its questions. What its tools changed belongs to the call.
func (enc *Encoder) below(th *thread, it *story.Item) {
	switch b := it.Event.Body.(type) {
	case *event.StateChanged:
		th.changed(b)
		th.heads(it.Event)
	case *event.ArtifactSaved:
		th.saved(b)
		th.heads(it.Event)
	case *event.Asked:
		enc.ask(th, it, b)
	case *event.Answered:
		enc.answer(it.Event, b)
	}
}

// open begins an event with the members that all have. The caller appends the rest and calls close.
func (enc *Encoder) open(id, run, author, branch string, at time.Time) object {
	if enc.List {
		if n := len(enc.dst); n > 0 && enc.dst[n-1] == '}' {
			enc.dst = append(enc.dst, ',')
		}
	} else {
		enc.dst = sse.OpenData(sse.AppendID(enc.dst, enc.cursor()))
	}
	o := object{append(enc.dst, '{')}
	o.str(`"id":`, id)
	o.str(`"invocationId":`, run)
	o.str(`"author":`, cmp.Or(author, roleModel))
	o.time(at.Truncate(time.Microsecond), Seconds)
	o.strOpt(`"branch":`, branch)
	return o
}

// noActions is how adk-python writes actions that do nothing.
const noActions = `"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}},`

func (enc *Encoder) close(o object) {
	enc.dst = o.end('}').buf
	if !enc.List {
		enc.dst = sse.Close(enc.dst)
	}
}

func (enc *Encoder) taken() (dst []byte) {
	dst, enc.dst = enc.dst, nil
	return dst
}

// piece sends a piece of an answer.
func (enc *Encoder) piece(th *thread, it *story.Item, text string, thought bool) {
	if !enc.Streaming || th.silent || text == "" {
		return
	}
	e := it.Event
	th.named(e)
	sent := &th.text
	if thought {
		sent = &th.thinking
	}
	sent.Add(text)
	o := enc.open(th.answer, e.Run, cmp.Or(e.Author, th.agent), e.Branch, cmp.Or(e.Time, th.begun))
	o.buf = append(o.buf, `"content":{"role":"model","parts":[{`...)
	o.str(`"text":`, text)
	if thought {
		o.buf = append(o.buf, `"thought":true,`...)
	}
	o.end('}').end(']').end('}').comma()
	o.buf = append(append(o.buf, noActions...), `"partial":true,`...)
	enc.close(o)
}

// beginsCall sends the beginning of a call, once. Its arguments are not JSON before they are whole.
func (enc *Encoder) beginsCall(th *thread, it *story.Item, b *event.ToolInputDelta) {
	if !enc.Streaming || th.silent {
		return
	}
	e := it.Event
	th.named(e)
	if slices.Contains(th.calls, b.Call) {
		return
	}
	th.calls = append(th.calls, b.Call)
	o := enc.open(th.answer, e.Run, cmp.Or(e.Author, th.agent), e.Branch, cmp.Or(e.Time, th.begun))
	o.buf = append(o.buf, `"content":{"role":"model","parts":[{"functionCall":{`...)
	o.str(`"id":`, b.Call)
	o.str(`"name":`, b.Tool)
	o.buf = append(o.buf, `"willContinue":true}}]},`...)
	o.buf = append(append(o.buf, noActions...), `"partial":true,`...)
	enc.close(o)
}

// snapshot sends what the reader lacks of an answer in flight. If that is not known, the answer is sent when it ends: a piece
// that repeats others would double them.
func (enc *Encoder) snapshot(th *thread, it *story.Item) {
	e := &event.Event{Header: it.Snapshot.Header}
	th.named(e)
	text, thinking := it.Answer.Shown(it.Snapshot)
	if th.silent || it.Snapshot.Truncated || !th.text.Begins(text) || !th.thinking.Begins(thinking) {
		th.silent, it.Answer.Lost = true, true
		return
	}
	rest := story.Item{Event: e, Agent: it.Agent}
	enc.piece(th, &rest, thinking[th.thinking.N:], true)
	enc.piece(th, &rest, text[th.text.N:], false)
}

// answered sends the event that closes an answer.
func (enc *Encoder) answered(th *thread, it *story.Item, b *event.AssistantMessage) {
	e := it.Event
	if e.Step != "" {
		th.named(e)
	} else {
		th.answer, th.sent = e.ID(), 0
	}
	parts := Parts(it.Answer.Content)
	out := Event{
		ID: th.answer, InvocationID: e.Run, Author: cmp.Or(e.Author, th.agent), Branch: e.Branch, Time: e.Time.Truncate(time.Microsecond),
		Content: &Content{Role: roleModel, Parts: parts}, LongRunning: b.LongRunning, FinishReason: finishReason(b.Stop), ModelVersion: b.Model,
		Usage: usageOf(&b.Usage),
	}
	out.Actions = noAction()
	if len(b.LongRunning) == 0 && out.Final() {
		out.TurnComplete = True
	}
	enc.send(&out)
}

func noAction() *Actions {
	none := map[string]json.RawMessage{}
	return &Actions{StateDelta: none, ArtifactDelta: map[string]Artifact{}, AuthConfigs: none, Confirmations: none}
}

// send sends an event.
func (enc *Encoder) send(e *Event) {
	if enc.List {
		if n := len(enc.dst); n > 0 && enc.dst[n-1] == '}' {
			enc.dst = append(enc.dst, ',')
		}
		enc.dst = e.AppendJSON(enc.dst)
		return
	}
	enc.dst = sse.Close(e.AppendJSON(sse.OpenData(sse.AppendID(enc.dst, enc.cursor()))))
}

// content sends an event with blocks.
func (enc *Encoder) content(e *event.Event, author, role string, blocks []event.Block) {
	enc.send(&Event{
		ID: e.ID(), InvocationID: e.Run, Author: author, Branch: e.Branch, Time: e.Time.Truncate(time.Microsecond),
		Content: &Content{Role: role, Parts: Parts(blocks)}, Actions: noAction(),
	})
}

// finishReason is Gemini's word for why a model stopped.
func finishReason(s event.StopReason) string {
	switch s {
	case "":
		return ""
	case event.StopEndTurn, event.StopToolUse, event.StopSequence:
		return "STOP"
	case event.StopMaxTokens:
		return "MAX_TOKENS"
	case event.StopRefusal, event.StopContentFiltered, event.StopGuardrail:
		return "SAFETY"
	}
	for _, c := range string(s) {
		if (c < 'A' || c > 'Z') && c != '_' {
			return "OTHER"
		}
	}
	return string(s) // a foreign word, as it came
}

func usageOf(u *event.Usage) *Usage {
	if *u == (event.Usage{}) {
		return nil
	}
	return &Usage{
		Prompt: u.Prompt(), Cached: u.CacheRead, Candidates: u.Output - u.Reasoning, Thoughts: u.Reasoning,
		Total: cmp.Or(u.Total, u.Prompt()+u.Output),
	}
}

// AppendNotice appends why nothing comes of the run, as a comment: ADK has no event for it.
func (enc *Encoder) AppendNotice(dst []byte, code, message string) []byte {
	if enc.List {
		return dst
	}
	return sse.AppendComment(dst, code+" "+message)
}

// AppendInterrupted ends the stream of a run that waits for a person: its questions were sent, and the results that are there.
func (enc *Encoder) AppendInterrupted(dst []byte, _ []event.Question) []byte {
	enc.dst = dst
	enc.unnamed = true // a reader that is cut off here gets all of it again
	enc.flushAll()
	enc.unnamed = false
	return enc.taken()
}

// Idle appends a comment, which clients pass over.
func (enc *Encoder) Idle(dst []byte) []byte {
	if enc.List {
		return dst
	}
	return sse.AppendComment(dst, "")
}

// Skip takes in an item that the reader has.
func (enc *Encoder) Skip(it *story.Item) {
	enc.skipping = true
	enc.Append(nil, it)
	enc.skipping = false
}

// Fail appends a frame with the error. It is an event too, so that a client which knows only events shows it.
func (enc *Encoder) Fail(dst []byte, err error) []byte {
	code, text := faultOf(err)
	enc.dst = dst
	o := enc.open(enc.Run+"/error", enc.Run, roleModel, "", time.Time{})
	o.str(`"errorCode":`, code)
	o.str(`"errorMessage":`, text)
	o.str(`"error":`, code+": "+text)
	enc.close(o)
	return enc.taken()
}

// faultOf returns ADK's code and the message of an error. Of an internal error it says only that it is one.
func faultOf(err error) (code, text string) {
	info := event.KindOf(err).Info()
	_, text, hint := wire.FaultOf(err)
	code = info.ADK
	if e, ok := err.(*event.Error); ok && info.Kind != event.ErrInternal && e != nil && e.Code != "" { //nolint:errorlint // the log's own
		return e.Code, text
	}
	if hint != "" {
		text += ": " + hint
	}
	return code, text
}

// fault sends an error as an event.
func (enc *Encoder) fault(e *event.Event, agent string, err *event.Error) {
	code, text := faultOf(cmp.Or(err, &event.Error{}))
	o := enc.open(e.ID(), e.Run, cmp.Or(e.Author, agent), e.Branch, e.Time)
	o.buf = append(o.buf, noActions...)
	o.str(`"errorCode":`, code)
	o.str(`"errorMessage":`, text)
	enc.close(o)
}

// runEnded sends what was seen of an answer that was cut off, and why the run ended before its end. Only the last frame names
// the place behind it.
func (enc *Encoder) runEnded(th *thread, it *story.Item, b *event.RunEnded) {
	e, why := it.Event, b.Err
	if why == nil && b.Status == event.RunCancelled {
		why = &event.Error{Kind: event.ErrCancelled}
	}
	enc.unnamed = b.Partial != "" || why != nil
	enc.flushAll()
	enc.threads = nil
	enc.unnamed = why != nil
	if b.Partial != "" {
		enc.send(&Event{
			ID: cmp.Or(th.answer, e.ID()), InvocationID: e.Run, Author: cmp.Or(e.Author, th.agent), Branch: e.Branch,
			Time: e.Time.Truncate(time.Microsecond), Content: &Content{Role: roleModel, Parts: []Part{{Text: &b.Partial}}},
			Actions: noAction(), Interrupted: True,
		})
	}
	enc.unnamed = false
	if why != nil {
		enc.fault(e, th.agent, why)
	}
}

// The questions are calls of ADK's own functions.
const (
	askConfirmation = "adk_request_confirmation"
	askCredential   = "adk_request_credential" //nolint:gosec // a name
	askInput        = "adk_request_input"
)

// ask sends a question. The id of its call is the question's token. A question for a result from outside names the call itself.
func (enc *Encoder) ask(th *thread, it *story.Item, q *event.Asked) {
	e := it.Event
	if enc.asked == nil {
		enc.asked = map[string]event.QuestionKind{}
	}
	enc.asked[q.Token] = q.Ask
	out := Event{
		ID: e.ID(), InvocationID: e.Run, Author: cmp.Or(th.agent, e.Author), Branch: e.Branch, Time: e.Time.Truncate(time.Microsecond),
		LongRunning: []string{q.Token}, Actions: noAction(),
	}
	if q.Ask == event.AskExternal {
		out.LongRunning[0] = cmp.Or(q.Call, q.Token)
		enc.send(&out)
		return
	}
	c := &Call{ID: q.Token, Name: functionOf(q.Ask)}
	a := object{append([]byte(nil), '{')}
	switch q.Ask {
	case event.AskApproval:
		original, args := it.Call, q.Args
		if original == nil {
			original = &event.ToolCall{ID: q.Call, Name: q.Tool}
		}
		if args == nil {
			args = original.Args
		}
		a.buf = append(a.buf, `"originalFunctionCall":{`...)
		a.str(`"id":`, original.ID)
		a.str(`"name":`, original.Name)
		a.rawOpt(`"args":`, asObject(args))
		a.end('}').comma()
		a.buf = append(a.buf, `"toolConfirmation":{`...)
		a.strOpt(`"hint":`, q.Prompt)
		a.flag(`"confirmed":`, False)
		a.rawOpt(`"payload":`, q.Payload)
		a.end('}').comma()
	case event.AskCredential:
		a.str(`"functionCallId":`, q.Call)
		a.strOpt(`"message":`, q.Prompt)
		a.rawOpt(`"authConfig":`, asObject(q.Payload))
	default:
		a.str(`"interruptId":`, q.Token)
		a.strOpt(`"message":`, q.Prompt)
		a.rawOpt(`"responseSchema":`, q.Schema)
		a.rawOpt(`"payload":`, q.Payload)
	}
	c.Args = a.end('}').buf
	out.Content = &Content{Role: roleModel, Parts: []Part{{Call: c}}}
	enc.send(&out)
}

func functionOf(ask event.QuestionKind) string {
	switch ask {
	case event.AskApproval:
		return askConfirmation
	case event.AskCredential:
		return askCredential
	default:
		return askInput
	}
}

// answer shows that a question was answered, in the events of a session. Of other answers than a yes or no the value is not
// shown: it may be a secret.
func (enc *Encoder) answer(e *event.Event, b *event.Answered) {
	if !enc.List || enc.Live {
		return
	}
	ask := enc.asked[b.Token]
	response := json.RawMessage(`{"status":"answered"}`)
	if ask == event.AskApproval {
		var a event.Approval
		_ = json.Unmarshal(b.Value, &a) // what is no approval was not approved
		response = member("confirmed", strconv.AppendBool(nil, a.Approved))
	}
	enc.send(&Event{
		ID: e.ID(), InvocationID: e.Run, Author: UserAuthor, Branch: e.Branch, Time: e.Time.Truncate(time.Microsecond), Actions: noAction(),
		Content: &Content{Role: roleUser, Parts: []Part{{Response: &Response{ID: b.Token, Name: functionOf(ask), Response: response}}}},
	})
}

// Hidden reports whether a key of the state is not sent: it lives for one run, or is Braid's own.
func Hidden(key string) bool {
	return userdata.IsTemp(key) || strings.HasPrefix(key, userdata.RunPrefix) || strings.HasPrefix(key, userdata.Reserved)
}
