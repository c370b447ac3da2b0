package agui

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/internal/userdata"
	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/story"
)

// Wire is AG-UI's.
var Wire = wire.Wire{
	Name: "agui", ContentType: "text/event-stream",
	Open: func(s wire.Start) wire.Encoder { return &Encoder{Run: s.Run, Thread: s.Conversation} },
}

// Encoder writes the story of a run as the events of AG-UI. It is used by one goroutine at a time.
//
// A client of AG-UI keeps all messages and sends them with its next run. Only MESSAGES_SNAPSHOT takes a message back, and it
// must contain all messages. So an encoder keeps the messages of its run, and Messages are those before it.
type Encoder struct {
	// Run is the run that is shown.
	Run string
	// Thread and ID are the client's names for the conversation and the run. An empty ID means the run's own.
	Thread, ID string
	// Messages are the client's messages, each one line of JSON with an id.
	Messages []json.RawMessage
	// State is the client's state. If it is not an object, an object replaces it before its first change.
	State json.RawMessage

	dst []byte
	// started is set once RUN_STARTED was sent.
	started  bool
	scopes   []*scope
	messages []*message
	// state has the keys of the client's state; nil until a change needs them.
	state map[string]json.RawMessage
	// used is what the models used in the client's run.
	used []event.ModelUsage
}

// Append appends what an item gives: any number of AG-UI's events.
func (enc *Encoder) Append(dst []byte, it *story.Item) []byte {
	if it.Snapshot != nil && it.Answer == nil {
		return dst // a tool's
	}
	h := it.Head()
	enc.used = it.Run.Usage
	enc.start(dst, h.Run)
	s := enc.scope(it.Agent)
	if it.Answer != nil || it.Event.Live() && it.Call == nil {
		if step := nth(h.Run+"/"+cmp.Or(h.Step, strconv.FormatInt(h.Seq, 10)), h.Attempt); s.step != step {
			enc.withdraw(s) // an answer that has no end
			s.begin(step)
		}
	}
	if it.Snapshot != nil {
		enc.snapshot(s, it)
	} else if !it.Gap() {
		enc.event(s, it)
	}
	return enc.taken()
}

// event sends what an event gives.
func (enc *Encoder) event(s *scope, it *story.Item) {
	e := it.Event
	switch b := e.Body.(type) {
	case *event.UserMessage:
		enc.mail(s, e, b)
	case *event.ScopeOpened:
		if it.Opened != nil {
			enc.opened(it.Opened, e.Run, b)
		}
	case *event.ScopeClosed:
		if it.Closed != nil {
			enc.end(enc.scope(it.Closed), nil, b.Err)
		}
	case *event.TextDelta:
		enc.say(s, s.text, b.Text)
	case *event.ThinkingDelta:
		enc.say(s, s.thinking, b.Text)
	case *event.ToolInputDelta:
		enc.args(enc.call(s, b.Call, b.Tool), b.JSON)
	case *event.AnswerReplaced:
		s.text.Sent = it.Answer.Text() + b.Text
		enc.allMessages()
	case *event.AssistantMessage:
		enc.answered(s, it, b)
	case *event.ToolProgress:
		value := progress{s.callID(b.Call), b.Tool, b.Text, b.Data}
		enc.send(&frame{Type: "CUSTOM", Subagent: s.sub, Name: "braid.tool_progress", Value: value})
	case *event.StepEnded:
		enc.stepEnded(s, b)
	case *event.StateChanged:
		enc.changed(b)
	case *event.RunEnded:
		enc.ended(e.Run, b)
	}
}

// snapshot sends the unsent part of a running step. If the snapshot has gaps itself, nothing is sent before the whole answer.
func (enc *Encoder) snapshot(s *scope, it *story.Item) {
	in := it.Snapshot
	text, thinking := it.Answer.Shown(in)
	if in.Truncated || !enc.rest(s, s.thinking, thinking) || !enc.rest(s, s.text, text) {
		it.Answer.Lost = true
		return
	}
	for i := range in.Blocks {
		if b := &in.Blocks[i]; b.Kind == event.BlockToolCall {
			c := enc.call(s, b.Call, b.Tool)
			enc.args(c, strings.TrimPrefix(b.Text, c.Function.Args))
		}
	}
}

// AppendNotice appends why nothing comes of the run, as an event of our own.
func (enc *Encoder) AppendNotice(dst []byte, code, message string) []byte {
	enc.start(dst, enc.Run)
	enc.send(&frame{Type: "CUSTOM", Name: "braid.notice", Value: map[string]string{"code": code, "message": message}})
	return enc.taken()
}

// AppendInterrupted ends the stream of a run that waits for answers to questions. Another run of the client brings them.
func (enc *Encoder) AppendInterrupted(dst []byte, open []event.Question) []byte {
	enc.start(dst, enc.Run)
	enc.settle(&outcome{Type: "suspended"})
	f := enc.finished(enc.Run, "interrupt")
	for i := range open {
		f.Outcome.Interrupts = append(f.Outcome.Interrupts, enc.interrupt(&open[i]))
	}
	enc.send(f)
	return enc.taken()
}

// interrupt writes a question. The reasons are those of docs.ag-ui.com/concepts/interrupts; others have a name before them.
func (enc *Encoder) interrupt(q *event.Question) interrupt {
	in := interrupt{ID: q.Token, Message: q.Prompt, Reason: "braid:" + string(q.Ask), Expires: q.Expires.UTC().Truncate(time.Second)}
	switch {
	case q.Ask == event.AskApproval && q.Call != "":
		in.Reason = "tool_call"
	case q.Ask == event.AskApproval:
		in.Reason = "confirmation"
	case q.Ask == event.AskInput:
		in.Reason = "input_required"
	}
	if c := enc.scope(&story.Agent{ID: q.Scope}).calls[q.Call]; c != nil {
		in.Call, in.Subagent = c.ID, c.sub
	}
	if strings.HasPrefix(strings.TrimSpace(string(q.Schema)), "{") { // AG-UI has no form for a schema that is a bool
		in.Schema = q.Schema
	}
	if len(q.Payload) > 0 {
		in.Metadata = map[string]any{"payload": q.Payload}
	}
	return in
}

// Skip takes in an item that the client has from the stream of another run of its own: one that waited for an answer. The
// client's state has its changes.
func (enc *Encoder) Skip(it *story.Item) {
	if it.Event == nil || it.Event.Body.Kind() != event.KindStateChanged {
		enc.Append(nil, it)
	}
	enc.started = false
}

// Idle appends a comment, which clients pass over.
func (*Encoder) Idle(dst []byte) []byte { return sse.AppendComment(dst, "") }

// Fail appends RUN_ERROR. The client may send the same run again, unless its key has ended or the conversation is gone.
func (enc *Encoder) Fail(dst []byte, err error) []byte {
	enc.dst = dst
	enc.send((&frame{Type: "RUN_ERROR"}).fail(err))
	return enc.taken()
}

// send appends an event of AG-UI as a server-sent event. JSON has no line ends, so it is one line.
func (enc *Encoder) send(f *frame) {
	if b, err := json.Marshal(f); err == nil { // a value of the log that is no JSON cannot be shown
		enc.dst = sse.Close(append(sse.OpenData(enc.dst), b...))
	}
}

// taken returns what was appended since start.
func (enc *Encoder) taken() (dst []byte) {
	dst, enc.dst = enc.dst, nil
	return dst
}

// start appends to dst from now on. A new stream begins with RUN_STARTED and the subagents that are at work.
func (enc *Encoder) start(dst []byte, run string) {
	if enc.dst = dst; enc.started {
		return
	}
	enc.started = true
	enc.send(&frame{Type: "RUN_STARTED", Thread: enc.Thread, Run: cmp.Or(enc.ID, run), Protocol: "1.0"})
	enc.clear(run)
	for _, s := range enc.scopes {
		if s.begins != nil {
			enc.send(s.begins)
		}
	}
}

// mail shows a message that the user sent during the run. The client has the run's input.
func (enc *Encoder) mail(s *scope, e *event.Event, b *event.UserMessage) {
	if b.Mail == "" || b.Why != "" {
		return
	}
	m := &message{ID: e.Run + "/" + strconv.FormatInt(e.Seq, 10), Role: "user", kind: "TEXT_MESSAGE"}
	enc.say(s, m, event.RawText(b.Content))
	enc.close(m)
}

// changed sends changes of the conversation's own state. The state of its user and of the application is not the client's.
func (enc *Encoder) changed(b *event.StateChanged) {
	if enc.state == nil && (json.Unmarshal(enc.State, &enc.state) != nil || enc.state == nil) {
		enc.state = map[string]json.RawMessage{}
		enc.send(&frame{Type: "STATE_SNAPSHOT", Snapshot: enc.state})
	}
	var list []patch
	for key, value := range b.Set {
		if !userdata.Shared(key) && !strings.HasPrefix(key, userdata.Reserved) {
			list = append(list, patch{Op: "add", Path: "/" + strictjson.EscapePointer(key), Value: value}) // also replaces (RFC 6902)
			enc.state[key] = nil
		}
	}
	for _, key := range b.Delete {
		if _, had := enc.state[key]; had {
			list = append(list, patch{Op: "remove", Path: "/" + strictjson.EscapePointer(key)})
			delete(enc.state, key)
		}
	}
	slices.SortStableFunc(list, func(a, b patch) int { return strings.Compare(a.Path, b.Path) })
	if len(list) > 0 {
		enc.send(&frame{Type: "STATE_DELTA", Delta: list})
	}
}

// finished makes the end of the client's run. AG-UI's input tokens include the cached ones, and its total is input and output.
func (enc *Encoder) finished(run, how string) *frame {
	f := &frame{Type: "RUN_FINISHED", Thread: enc.Thread, Run: cmp.Or(enc.ID, run), Outcome: &outcome{Type: how}}
	for _, m := range enc.used {
		u := &m.Usage
		f.Usage = append(f.Usage, tokens{m.Model, u.Total - u.Output, u.Output, u.Total, u.Reasoning, u.CacheRead, u.CacheWrite})
	}
	return f
}

// ended ends a run. How it ended in the loop's words stands in the event's metadata.
func (enc *Encoder) ended(run string, b *event.RunEnded) {
	enc.settle(nil)
	f := enc.finished(run, "success")
	switch {
	case b.Status == event.RunFailed, b.Why == event.WhyDeadline:
		f = (&frame{Type: "RUN_ERROR", Usage: f.Usage}).fail(cmp.Or(b.Err, &event.Error{}))
	case b.Status == event.RunCancelled:
		f.Outcome.Type = "cancelled"
	default:
		f.Result = b.Output
	}
	f.Metadata = map[string]any{"stop": b.Stop}
	enc.send(f)
	enc.started, enc.scopes = false, nil
}
