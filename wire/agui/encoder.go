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
// A client of AG-UI keeps all messages and sends them with its next run. What it was shown cannot be taken back but by
// MESSAGES_SNAPSHOT, which has to have all of them. So an encoder keeps what it has shown of its run, and Messages are
// those before it.
type Encoder struct {
	// Run is the run that is shown.
	Run string
	// Thread and ID are the names that the client has for the conversation and for the run. An empty ID is the run's own.
	Thread, ID string
	// Messages are those that the client has, each one line of JSON with an id.
	Messages []json.RawMessage
	// State is the one that the client has: what is no object is replaced by one before its first change.
	State json.RawMessage

	dst []byte
	// started is set once RUN_STARTED was sent, done once nothing may follow.
	started, done bool
	// skipping is set while Skip takes in what the client has from another stream.
	skipping bool
	scopes   []*scope
	calls    map[string]*call
	messages []*message
	// invoked counts the invocations of each sub-agent's scope.
	invoked map[string]int
	// state has the keys of the client's state; nil until a change needs them.
	state map[string]json.RawMessage
	// now is the run, for its usage.
	now *story.Run
}

var _ wire.Encoder = (*Encoder)(nil)

// Append appends what an item gives: any number of AG-UI's events.
func (enc *Encoder) Append(dst []byte, it *story.Item) []byte {
	if it.Snapshot != nil && it.Answer == nil {
		return dst // a tool's
	}
	h := it.Head()
	enc.now = it.Run
	enc.start(dst, h.Run)
	if it.Opened != nil {
		enc.opened(it)
	}
	s := enc.scope(it.Agent)
	if it.Answer != nil || it.Event.Live() && it.Call == nil {
		enc.at(s, h)
	}
	if it.Snapshot != nil {
		enc.snapshot(s, it)
	} else if !it.Gap() {
		enc.event(s, it)
	}
	enc.done = enc.done || it.Ends
	return enc.taken()
}

// event sends what an event gives.
func (enc *Encoder) event(s *scope, it *story.Item) {
	e := it.Event
	switch b := e.Body.(type) {
	case *event.UserMessage:
		enc.letter(s, e, b)
	case *event.ScopeClosed:
		if enc.closed(b.ID, b.Err); it.Closed != nil {
			it.Closed.Own.Wire = nil
		}
	case *event.TextDelta:
		enc.say(s, s.text, b.Text)
	case *event.ThinkingDelta:
		enc.say(s, s.thinking, b.Text)
	case *event.ToolInputDelta:
		enc.args(enc.call(s, b.Call, b.Tool), b.JSON)
	case *event.AnswerReplaced:
		s.text.Sent = b.Text
		if it.Answer != nil {
			s.text.Sent = it.Answer.Text() + b.Text
		}
		enc.allMessages()
	case *event.AssistantMessage:
		enc.answered(s, it, b)
	case *event.ToolProgress:
		value := progress{enc.callID(b.Call), b.Tool, b.Text, b.Data}
		enc.send(&frame{Type: "CUSTOM", Subagent: s.sub, Name: "braid.tool_progress", Value: value})
	case *event.StepEnded:
		enc.stepEnded(s, b)
	case *event.StateChanged:
		enc.changed(b)
	case *event.RunEnded:
		enc.ended(e.Run, b)
	}
}

// snapshot sends what a step in flight has said and was not sent. If the snapshot has gaps itself, nothing more is sent before
// the whole answer.
func (enc *Encoder) snapshot(s *scope, it *story.Item) {
	in := it.Snapshot
	text, thinking := it.Answer.Shown(in)
	if in.Truncated || !strings.HasPrefix(text, s.text.Sent) || !strings.HasPrefix(thinking, s.thinking.Sent) {
		it.Answer.Lost = true
		return
	}
	enc.rest(s, s.thinking, thinking)
	enc.rest(s, s.text, text)
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
func (enc *Encoder) AppendInterrupted(dst []byte, open []event.Asked) []byte {
	enc.start(dst, enc.Run)
	enc.settle("suspended")
	f := enc.finished(enc.Run, "interrupt")
	for i := range open {
		f.Outcome.Interrupts = append(f.Outcome.Interrupts, enc.interrupt(&open[i]))
	}
	enc.send(f)
	enc.done = true
	return enc.taken()
}

// interrupt writes a question. The reasons are those of docs.ag-ui.com/concepts/interrupts; others have a name before them.
func (enc *Encoder) interrupt(q *event.Asked) interrupt {
	in := interrupt{ID: q.Token, Message: q.Prompt, Reason: "braid:" + string(q.Ask), Expires: q.Expires.UTC().Truncate(time.Second)}
	switch {
	case q.Ask == event.AskApproval && q.Call != "":
		in.Reason = "tool_call"
	case q.Ask == event.AskApproval:
		in.Reason = "confirmation"
	case q.Ask == event.AskInput:
		in.Reason = "input_required"
	}
	if c := enc.calls[q.Call]; c != nil {
		in.Call, in.Subagent = c.ID, c.sub
	}
	if strings.HasPrefix(strings.TrimSpace(string(q.Schema)), "{") { // a schema that is a bool cannot be told
		in.Schema = q.Schema
	}
	if len(q.Payload) > 0 {
		in.Metadata = map[string]any{"payload": q.Payload}
	}
	return in
}

// Skip takes in an item that the client has from the stream of another run of its own: one that waited for an answer.
func (enc *Encoder) Skip(it *story.Item) {
	enc.skipping = true
	enc.Append(nil, it)
	enc.skipping, enc.started = false, false
}

// Idle appends a comment, which clients pass over.
func (*Encoder) Idle(dst []byte) []byte { return sse.AppendComment(dst, "") }

// Fail appends RUN_ERROR. The client may send the same run again, unless its key has ended or the conversation is gone.
func (enc *Encoder) Fail(dst []byte, err error) []byte {
	enc.dst, enc.done = dst, true
	enc.send((&frame{Type: "RUN_ERROR"}).fail(err))
	return enc.taken()
}

// Done implements [wire.Encoder].
func (enc *Encoder) Done() bool { return enc.done }

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

// start goes on behind dst. It sends what every stream begins with, and announces the sub-agents that go on from the run
// before.
func (enc *Encoder) start(dst []byte, run string) {
	if enc.dst = dst; enc.started {
		return
	}
	enc.started = true
	if enc.calls == nil {
		enc.calls, enc.invoked = map[string]*call{}, map[string]int{}
	}
	enc.send(&frame{Type: "RUN_STARTED", Thread: enc.Thread, Run: cmp.Or(enc.ID, run), Protocol: ProtocolVersion})
	enc.clear(run)
	for _, s := range enc.scopes {
		if s.begins != nil {
			enc.send(s.begins)
		}
	}
}

// letter shows what somebody has said to a run that was open. The client knows what the run began with.
func (enc *Encoder) letter(s *scope, e *event.Event, b *event.UserMessage) {
	if b.Mail == "" || b.Why != "" {
		return
	}
	m := &message{ID: e.Run + "/" + strconv.FormatInt(e.Seq, 10), Role: "user"}
	enc.say(s, m, event.RawText(b.Content))
	enc.close(m)
}

// changed tells of the conversation's own state. That of its user and of the whole application is not the client's.
func (enc *Encoder) changed(b *event.StateChanged) {
	if enc.skipping {
		return // the client has it in its state
	}
	if enc.state == nil && (json.Unmarshal(enc.State, &enc.state) != nil || enc.state == nil) {
		enc.state = map[string]json.RawMessage{}
		enc.send(&frame{Type: "STATE_SNAPSHOT", Snapshot: enc.state})
	}
	var list []patch
	for key, value := range b.Set {
		if !shared(key) {
			list = append(list, patch{Op: "add", Path: pointer(key), Value: value}) // which also replaces (RFC 6902, section 4.1)
			enc.state[key] = nil
		}
	}
	for _, key := range b.Delete {
		if _, had := enc.state[key]; had {
			list = append(list, patch{Op: "remove", Path: pointer(key)})
			delete(enc.state, key)
		}
	}
	slices.SortStableFunc(list, func(a, b patch) int { return strings.Compare(a.Path, b.Path) })
	if len(list) > 0 {
		enc.send(&frame{Type: "STATE_DELTA", Delta: list})
	}
}

// shared reports whether a key is not the conversation's own.
func shared(key string) bool {
	return strings.HasPrefix(key, "app:") || strings.HasPrefix(key, "user:") || strings.HasPrefix(key, "braid.")
}

// pointer returns the JSON pointer to a key (RFC 6901).
func pointer(key string) string { return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// finished makes the end of the client's run.
func (enc *Encoder) finished(run, how string) *frame {
	return &frame{Type: "RUN_FINISHED", Thread: enc.Thread, Run: cmp.Or(enc.ID, run), Outcome: &outcome{Type: how}, Usage: enc.usage()}
}

// ended ends a run. How it ended in the loop's words stands in the event's metadata.
func (enc *Encoder) ended(run string, b *event.RunEnded) {
	enc.settle("")
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

// usage is what the models have used in this run of the client's.
func (enc *Encoder) usage() (list []tokens) {
	if enc.now == nil {
		return nil
	}
	for _, m := range enc.now.Usage {
		// Of AG-UI's counts the cache's are parts of the input, and the total is of the two.
		u := &m.Usage
		list = append(list, tokens{
			Model: m.Model, Input: u.Total - u.Output, Output: u.Output, Total: u.Total, Reasoning: u.Reasoning,
			CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		})
	}
	return list
}
