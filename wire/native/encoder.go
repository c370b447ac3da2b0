package native

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/internal/userdata"
	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/story"
)

// Wire is the native API's.
var Wire = wire.Wire{
	Name: "native", ContentType: "text/event-stream",
	Open: func(s wire.Start) wire.Encoder {
		enc := NewEncoder(s.Conversation)
		enc.Run = s.Run
		return enc
	},
}

// Encoder turns the story of a conversation into frames. Runs may follow one another. An Encoder is
// used by one goroutine at a time.
type Encoder struct {
	// RequestID is part of the error that ends a run or a stream.
	RequestID string
	// Run is the only run to be shown; empty shows all of them.
	Run string
	// Complete is for streams whose reader may know only the seed's frames and never
	// resumes: text_delta and thinking then add up to every answer that the
	// stream has seen begin, also where the model did not stream it, where it
	// comes from the log, and where the reader was too slow.
	Complete bool

	conversation string
	frames       []Frame
}

// sent is what was sent of an answer as deltas, in a stream that is to be complete.
type sent struct{ text, thinking story.Streamed }

// NewEncoder begins at the beginning of a conversation.
func NewEncoder(conversation string) *Encoder { return &Encoder{conversation: conversation} }

// Skip implements [wire.Encoder]. Before a stream that is resumed after a durable event, skip the events of its run from
// the first to that one.
func (*Encoder) Skip(*story.Item) {}

// Append appends the frames of the next item; for many there are none. For a delta it does not allocate once dst is large
// enough.
func (enc *Encoder) Append(dst []byte, it *story.Item) []byte {
	e := it.Event
	if e == nil {
		return appendAll(dst, Cursor{Seq: it.Last, Epoch: it.Snapshot.Epoch, N: it.Snapshot.N}, enc.Frames(it))
	}
	// The frame stays on the stack: hence one call for each.
	switch b := e.Body.(type) {
	case *event.TextDelta:
		if enc.grow(it, b.Text, "") {
			f := TextDelta{Text: b.Text, Place: placeOf(it)}
			return sse.Close(f.append(appendHead(dst, CursorOf(e, it.Last), "text_delta")))
		}
		return dst
	case *event.ThinkingDelta:
		if enc.grow(it, "", b.Text) {
			f := Thinking{Text: b.Text, Place: placeOf(it)}
			return sse.Close(f.append(appendHead(dst, CursorOf(e, it.Last), "thinking")))
		}
		return dst
	case *event.ToolProgress:
		f := progressOf(it, b)
		return sse.Close(f.append(appendHead(dst, CursorOf(e, it.Last), "tool_progress")))
	}
	return appendAll(dst, CursorOf(e, it.Last), enc.Frames(it))
}

// AppendFrame appends a frame without an event, such as a title. It has
// no id: a reader that is cut off after it goes on from the frame before.
func AppendFrame(dst []byte, f Frame) []byte {
	return sse.Close(f.append(sse.OpenData(sse.AppendName(dst, f.FrameName()))))
}

// AppendFrames appends the frames of one event, the last of them with its id.
func AppendFrames(dst []byte, id Cursor, list []Frame) []byte { return appendAll(dst, id, list) }

// AppendJSON appends a frame's JSON alone.
func AppendJSON(dst []byte, f Frame) []byte { return f.append(dst) }

func appendAll(dst []byte, id Cursor, list []Frame) []byte {
	for i, f := range list {
		if i < len(list)-1 {
			dst = AppendFrame(dst, f)
			continue
		}
		dst = sse.Close(f.append(appendHead(dst, id, f.FrameName())))
	}
	return dst
}

// appendHead appends a frame up to its data.
func appendHead(dst []byte, id Cursor, name string) []byte {
	dst = append(id.Append(append(dst, "id: "...)), "\nevent: "...)
	return append(append(dst, name...), "\ndata: "...)
}

// Frames are the frames of the next item as values. The list is good until the next call.
func (enc *Encoder) Frames(it *story.Item) []Frame {
	clear(enc.frames)
	enc.frames = enc.frames[:0]
	if it.Snapshot != nil {
		enc.snapshot(it)
	} else {
		enc.event(it)
	}
	return enc.frames
}

func (enc *Encoder) send(f Frame) { enc.frames = append(enc.frames, f) }

// event makes the frames of an event.
func (enc *Encoder) event(it *story.Item) {
	switch b := it.Event.Body.(type) {
	case *event.TextDelta:
		if enc.grow(it, b.Text, "") {
			enc.send(&TextDelta{Text: b.Text, Place: placeOf(it)})
		}
	case *event.ThinkingDelta:
		if enc.grow(it, "", b.Text) {
			enc.send(&Thinking{Text: b.Text, Place: placeOf(it)})
		}
	case *event.ToolProgress:
		f := progressOf(it, b)
		enc.send(&f)
	case *event.AnswerReplaced:
		enc.replace(it, b)
	case *event.RunStarted:
		enc.begin(it, b)
	case *event.UserMessage:
		enc.send(&UserMessage{Text: event.RawText(b.Content), Attachments: attachments(b.Content), MessageID: b.Mail})
	case *event.AssistantMessage:
		enc.message(it, b)
	case *event.StepEnded:
		enc.ended(it, b)
	case *event.ScopeOpened:
		enc.opened(it, b)
		enc.nodeOpened(it, b)
	case *event.ScopeClosed:
		enc.closed(it, b)
		enc.nodeClosed(it, b)
	case *event.Transferred:
		enc.send(&Transfer{From: b.From, To: b.To, Scope: it.Agent.ID, Place: placeOf(it)})
	case *event.Asked:
		enc.send(&Question{
			QuestionID: b.Token, Ask: b.Ask, Name: b.Name, Index: b.Index, Prompt: b.Prompt, Payload: b.Payload,
			Schema: b.Schema, ToolUseID: b.Call, ToolName: b.Tool, ToolInput: b.Args, ExpiresAt: b.Expires, Place: placeOf(it),
		})
	case *event.Answered:
		enc.send(&Answered{QuestionID: b.Token, By: b.By, Place: placeOf(it)})
	case *event.Fault:
		err := errorOf(b.Err)
		enc.send(&Notice{Code: err.Code, Message: err.Message, Place: placeOf(it)})
	case *event.Notice:
		enc.send(&Notice{Code: b.Code, Message: b.Text, Place: placeOf(it)})
	case *event.Compacted:
		const says = "The conversation became long: its beginning is now a summary for the model."
		enc.send(&Notice{Code: "compacted", Message: says, Place: placeOf(it)})
	case *event.Redacted:
		if !b.Clean { // what the target shows is right
			enc.send(&Redacted{Target: b.Target, Text: story.Replacement(b)})
		}
	case *event.RunEnded:
		enc.finish(it.Run, b)
	}
}

// sentOf is what was sent of the item's answer as deltas; nil in a stream that need not know it.
func (enc *Encoder) sentOf(it *story.Item) *sent {
	if !enc.Complete || it.Answer == nil || !it.Answer.Whole {
		return nil
	}
	s, ok := it.Answer.Wire.(*sent)
	if !ok {
		s = &sent{}
		it.Answer.Wire = s
	}
	return s
}

// replace takes an answer's text back: a snapshot says what is shown of it now. A
// reader that may know deltas only is sent the new text as one.
func (enc *Encoder) replace(it *story.Item, b *event.AnswerReplaced) {
	text := it.Answer.Text()
	f := &Snapshot{Text: text + b.Text, Thinking: it.Answer.Thinking(), Place: placeOf(it)}
	s := enc.sentOf(it)
	if s == nil {
		enc.send(f)
		return
	}
	f.Text, *s = text, sent{}
	s.text.Add(text)
	s.text.Add(b.Text)
	s.thinking.Add(f.Thinking)
	enc.send(f)
	enc.send(&TextDelta{Text: b.Text, Place: f.Place})
}

func progressOf(it *story.Item, b *event.ToolProgress) ToolProgress {
	return ToolProgress{ToolUseID: b.Call, ToolName: b.Tool, Text: b.Text, Data: b.Data, Place: placeOf(it)}
}

// grow counts a delta, and says whether it is to be sent.
func (enc *Encoder) grow(it *story.Item, text, thinking string) bool {
	if a := it.Answer; a != nil && a.Lost && !a.Replaced {
		return false
	}
	if s := enc.sentOf(it); s != nil {
		s.text.Add(text)
		s.thinking.Add(thinking)
	}
	return true
}

func placeOf(it *story.Item) Place {
	h := it.Head()
	return Place{Step: h.Step, Attempt: h.Attempt, Parent: it.Agent.Call}
}

func (enc *Encoder) begin(it *story.Item, b *event.RunStarted) {
	f := &Init{
		SessionID: enc.session(it.Run), Model: b.Model, Turn: b.Turn, Tools: b.Tools, RunID: it.Run.ID, Agent: b.Agent,
		Simulated: it.Run.Simulated,
	}
	for _, s := range b.Servers {
		server := Server{Name: s.Name, Status: s.Status, Reason: s.Reason}
		for _, t := range s.Skipped {
			server.Skipped = append(server.Skipped, SkippedTool(t))
		}
		f.MCPServers = append(f.MCPServers, server)
	}
	for k, v := range b.Metadata {
		if !strings.HasPrefix(k, userdata.Reserved) {
			if f.Metadata == nil {
				f.Metadata = make(map[string]string, len(b.Metadata))
			}
			f.Metadata[k] = v
		}
	}
	enc.send(f)
}

func (enc *Encoder) session(r *story.Run) string { return event.SessionID(enc.conversation, r.Session) }

// message sends an answer, or what of it has been committed so far.
func (enc *Encoder) message(it *story.Item, b *event.AssistantMessage) {
	text, thinking, place := it.Answer.Text(), it.Answer.Thinking(), placeOf(it)
	if s := enc.sentOf(it); s != nil {
		enc.rest(s, place, text, thinking, b.Piece)
	}
	enc.send(&Message{
		Text: text, Thinking: thinking, Piece: b.Piece, StopReason: b.Stop, Model: b.Model, Usage: UsageOf(b.Usage),
		Simulated: it.Event.Simulated, Place: place,
	})
	for _, block := range b.Content {
		c, ok := block.(*event.ToolCall)
		if !ok {
			continue
		}
		f := &ToolUse{ToolUseID: c.ID, ToolName: c.Name, ToolInput: c.Args, Fault: c.Fault, Place: place}
		if c.Args == nil {
			f.ToolInput = json.RawMessage(`{}`)
		}
		enc.send(f)
	}
}

// rest sends as deltas what of a step's text was not sent so. Where the text is another
// one by now, because a guardrail took it back while the reader was too slow, all of it
// is. behind says that what was streamed may be ahead of it.
func (enc *Encoder) rest(s *sent, at Place, text, thinking string, behind bool) {
	joins := func(s *story.Streamed, text string) bool { return s.Begins(text) || behind && s.N > len(text) }
	if !joins(&s.text, text) || !joins(&s.thinking, thinking) {
		enc.send(&Snapshot{Place: at})
		*s = sent{}
	}
	if n := s.thinking.N; n < len(thinking) {
		enc.send(&Thinking{Text: thinking[n:], Place: at})
		s.thinking.Add(thinking[n:])
	}
	if n := s.text.N; n < len(text) {
		enc.send(&TextDelta{Text: text[n:], Place: at})
		s.text.Add(text[n:])
	}
}

// ended sends the end of a tool call, or of an attempt that another follows.
func (enc *Encoder) ended(it *story.Item, b *event.StepEnded) {
	if b.Step == event.StepModel {
		if b.RetryAt.IsZero() && b.Outcome != event.OutcomeLost {
			return
		}
		f := &Retry{RetryAt: b.RetryAt, Model: b.Fallback, Place: placeOf(it)}
		if b.Err != nil {
			err := errorOf(b.Err)
			f.Error = &Error{Code: err.Code, Message: err.Message}
		}
		enc.send(f)
		return
	}
	r := b.Result
	if r == nil {
		return
	}
	f := &ToolResult{
		ToolUseID: r.Call, ToolName: r.Name, Content: event.RawText(r.Content), IsError: r.IsError, Structured: r.Structured,
		Attachments: attachments(r.Content), DurationMS: b.Duration.Milliseconds(), Place: placeOf(it),
	}
	if f.Content == "" && len(f.Attachments) == 0 {
		f.Content = string(r.Structured)
	}
	if b.Outcome != event.OutcomeDone {
		f.Outcome = b.Outcome
	}
	enc.send(f)
}

// finish sends a run's terminal frame.
func (enc *Encoder) finish(run *story.Run, b *event.RunEnded) {
	end := End{
		FileChanges: b.Files, MoreFileChanges: b.MoreFiles,
		Usage: UsageOf(b.Usage), TotalCostUSD: dollars(b.CostNanoUSD), Estimated: b.Estimated,
		NumTurns: b.Cycles, DurationMS: b.Duration.Milliseconds(),
		SessionID: enc.session(run), StopReason: b.Stop, RunID: run.ID, Turn: run.Turn, Status: b.Status, Simulated: run.Simulated,
	}
	end.ModelUsage = modelUsage(b.Models)
	end.Main, end.Subagents = agents(b.Agents)
	bad := b.Err
	if bad == nil && b.Status != event.RunCompleted {
		bad = &event.Error{Kind: event.ErrInternal}
		if b.Status == event.RunCancelled {
			bad.Kind = event.ErrCancelled
		}
	}
	if b.Status == event.RunFailed && bad.Kind != event.ErrTimeout {
		err := errorOf(bad)
		err.RequestID, err.Run = enc.RequestID, &end
		enc.send(err)
		return
	}
	r := &Result{Result: run.Answer, Errors: []string{}, End: end, StructuredOutput: b.Output}
	if len(b.Output) > 0 {
		r.Result = string(b.Output)
	}
	if bad != nil {
		r.Result, r.IsError, r.Error = cmp.Or(b.Partial, run.Said), true, errorOf(bad)
		r.Errors = append(r.Errors, r.Error.Message)
	}
	enc.send(r)
}

// errorOf is an error as this wire has it; none is an internal one.
func errorOf(err *event.Error) *Error {
	if err == nil {
		err = &event.Error{}
	}
	out, _ := ErrorOf(err)
	return &out
}

// snapshot makes the frames that stand for what a reader missed: a snapshot, for a tool its last progress, or in a stream
// that is to be complete the text that the reader misses.
func (enc *Encoder) snapshot(it *story.Item) {
	in := it.Snapshot
	if in.Kind != event.StepModel {
		if p := in.Progress; p != nil {
			f := progressOf(it, p)
			enc.send(&f)
		}
		return
	}
	f := &Snapshot{Truncated: in.Truncated, Place: placeOf(it)}
	f.Text, f.Thinking = it.Answer.Shown(in)
	switch s := enc.sentOf(it); {
	case s == nil:
		enc.send(f)
	case !in.Truncated: // or else the message brings the rest
		enc.rest(s, f.Place, f.Text, f.Thinking, false)
	}
}

// attachments describes the blocks that are not text.
func attachments(blocks []event.Block) []Attachment {
	var list []Attachment
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Image:
			list = append(list, Attachment{Kind: "image", MIME: b.MIME, URL: b.URL, Size: len(b.Data)})
		case *event.Document:
			list = append(list, Attachment{Kind: "document", Name: b.Name, MIME: b.MIME, URL: b.URL, Size: len(b.Data) + len(b.Text)})
		case *event.Media:
			list = append(list, Attachment{Kind: b.Media, MIME: b.MIME, URL: b.URL})
		}
	}
	return list
}

func dollars(nano *int64) *float64 {
	if nano == nil {
		return nil
	}
	d := float64(*nano) / 1e9
	return &d
}
