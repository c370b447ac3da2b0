package native

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/wire"
)

// Encoder turns the events of one conversation, in their order, into frames. It
// keeps what a frame needs and its event does not say: the session, the call whose
// agent speaks, the last answer. Runs may follow one another. An Encoder is
// used by one goroutine at a time.
type Encoder struct {
	// RequestID stands in the error that ends a run or a stream.
	RequestID string
	// Run is the only run to be shown; empty shows all of them.
	Run string
	// Complete is for streams whose reader may know only the seed's frames and never
	// resumes: text_delta and thinking then add up to every answer that the
	// stream has seen begin, also where the model did not stream it, where it
	// comes from the log, and where the reader was too slow.
	Complete bool

	conversation string
	last         int64
	run          string
	session      string
	turn         int
	simulated    bool
	// answer is the root's last one; said the last of them that had text. The numbers
	// are those of their events.
	answer, said     string
	answered, saidAt int64
	// stepped says that the run has begun a step.
	stepped bool
	scopes  []scope
	steps   []step
	frames  []Frame
	// silent is set while an event is taken in and nothing is sent.
	silent bool
	// done is set once the run to be shown has ended, or the stream has failed.
	done bool
}

var _ wire.Encoder = (*Encoder)(nil)

// scope is an agent at work for a tool call.
type scope struct{ id, call string }

// step is a model call in flight, as this stream has shown it.
type step struct {
	name    string
	attempt int
	// text and thinking are what an answer that comes in pieces has committed.
	text, thinking string
	// sentText and sentThinking are what was sent as deltas.
	sentText, sentThinking sent
	// whole means that the stream has seen the attempt begin; cut that no delta of
	// it is sent any more, because it would not join on.
	whole, cut bool
}

// sent is a text that a reader has, by its length and a sum, which is kept only where
// it must be known whether another text begins with it.
type sent struct {
	n   int
	sum uint64
}

// The numbers of FNV-1a.
const sumBasis, sumPrime = 14695981039346656037, 1099511628211

// add takes in more of the text.
func (s *sent) add(text string, sums bool) {
	s.n += len(text)
	if sums {
		s.sum = sumOf(s.sum, text)
	}
}

// differs reports whether text does not begin with what was sent. With behind it may
// also be the beginning of that.
func (s *sent) differs(text string, behind bool) bool {
	if s.n > len(text) {
		return !behind
	}
	return sumOf(0, text[:s.n]) != s.sum
}

// sumOf goes on from a sum; that of nothing is 0.
func sumOf(sum uint64, text string) uint64 {
	sum ^= sumBasis
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * sumPrime
	}
	return sum ^ sumBasis
}

// NewEncoder begins at the beginning of a conversation.
func NewEncoder(conversation string) *Encoder { return &Encoder{conversation: conversation} }

// Skip takes in an event that the reader has already. Before a stream that is
// resumed after a durable event, skip the events of its run from the first to
// that one.
func (enc *Encoder) Skip(e *event.Event) {
	if !enc.shows(&e.Header) {
		return
	}
	enc.silent = true
	enc.take(e)
	enc.silent = false
	for i := range enc.steps {
		enc.steps[i].whole = false
	}
	enc.frames = enc.frames[:0]
}

// SkipTo says that the reader has everything up to a durable event, for a stream
// that begins where no run is under way, or whose events were not all skipped.
func (enc *Encoder) SkipTo(seq int64) { enc.last = max(enc.last, seq) }

// Cursor is the place behind the last durable event that was taken in.
func (enc *Encoder) Cursor() Cursor { return Cursor{Seq: enc.last} }

// Append appends the frames of the next event; for many events there are none. A
// durable event that was there before gives nothing. For a delta it does not
// allocate once dst is large enough.
func (enc *Encoder) Append(dst []byte, e *event.Event) []byte {
	if !e.Live() {
		return appendAll(dst, CursorOf(e, enc.last), enc.Frames(e))
	}
	if e.Audience != event.Everyone || !enc.shows(&e.Header) {
		return dst
	}
	// The frame stays on the stack: hence one call for each.
	switch b := e.Body.(type) {
	case *event.TextDelta:
		if enc.grow(e, b.Text, "") {
			f := TextDelta{Text: b.Text, Place: enc.place(e)}
			return sse.Close(f.append(appendHead(dst, CursorOf(e, enc.last), "text_delta")))
		}
	case *event.ThinkingDelta:
		if enc.grow(e, "", b.Text) {
			f := Thinking{Text: b.Text, Place: enc.place(e)}
			return sse.Close(f.append(appendHead(dst, CursorOf(e, enc.last), "thinking")))
		}
	case *event.ToolProgress:
		f := enc.progress(e, b)
		return sse.Close(f.append(appendHead(dst, CursorOf(e, enc.last), "tool_progress")))
	case *event.AnswerReplaced:
		return appendAll(dst, CursorOf(e, enc.last), enc.Frames(e))
	}
	return dst
}

// AppendSnapshot appends what stands for the deltas of a step in flight: a
// snapshot, for a tool its last progress, or in a stream that is to be complete
// the text that the reader misses. A step that is over gives nothing.
func (enc *Encoder) AppendSnapshot(dst []byte, s *event.Snapshot) []byte {
	return appendAll(dst, Cursor{Seq: enc.last, Epoch: s.Epoch, N: s.N}, enc.SnapshotFrames(s))
}

// AppendFrame appends a frame that no event stands behind, such as a title. It has
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

// Frames are the frames of the next event as values. The list is good until the
// next call.
func (enc *Encoder) Frames(e *event.Event) []Frame {
	clear(enc.frames)
	enc.frames = enc.frames[:0]
	if !enc.shows(&e.Header) {
		enc.SkipTo(e.Seq) // 0 for a live event
		return nil
	}
	if e.Live() {
		if e.Audience == event.Everyone {
			enc.speak(e)
		}
		return enc.frames
	}
	if e.Seq > 0 && e.Seq <= enc.last {
		return nil
	}
	enc.take(e)
	return enc.frames
}

// shows reports whether an event belongs to what the stream shows.
func (enc *Encoder) shows(h *event.Header) bool { return enc.Run == "" || h.Run == enc.Run }

func (enc *Encoder) send(f Frame) {
	if !enc.silent {
		enc.frames = append(enc.frames, f)
	}
}

// speak makes the frame of a live event.
func (enc *Encoder) speak(e *event.Event) {
	switch b := e.Body.(type) {
	case *event.TextDelta:
		if enc.grow(e, b.Text, "") {
			enc.send(&TextDelta{Text: b.Text, Place: enc.place(e)})
		}
	case *event.ThinkingDelta:
		if enc.grow(e, "", b.Text) {
			enc.send(&Thinking{Text: b.Text, Place: enc.place(e)})
		}
	case *event.ToolProgress:
		f := enc.progress(e, b)
		enc.send(&f)
	case *event.AnswerReplaced:
		enc.replace(e, b)
	}
}

// replace takes an answer's text back: a snapshot says what is shown of it now. A
// reader that may know deltas only is sent the new text as one.
func (enc *Encoder) replace(e *event.Event, b *event.AnswerReplaced) {
	f := &Snapshot{Text: b.Text, Place: enc.place(e)}
	s := enc.step(e.Step)
	if s == nil || s.attempt != e.Attempt {
		enc.send(f)
		return
	}
	f.Thinking, s.cut = s.thinking, false
	s.sentText, s.sentThinking = sent{}, sent{}
	s.sentText.add(s.text, enc.Complete)
	s.sentThinking.add(s.thinking, enc.Complete)
	s.sentText.add(b.Text, enc.Complete)
	if f.Text = s.text + b.Text; !enc.Complete || !s.whole {
		enc.send(f)
		return
	}
	f.Text = s.text
	enc.send(f)
	enc.send(&TextDelta{Text: b.Text, Place: f.Place})
}

func (enc *Encoder) progress(e *event.Event, b *event.ToolProgress) ToolProgress {
	return ToolProgress{ToolUseID: b.Call, ToolName: b.Tool, Text: b.Text, Data: b.Data, Place: enc.place(e)}
}

// grow counts a delta, and says whether it is to be sent.
func (enc *Encoder) grow(e *event.Event, text, thinking string) bool {
	s := enc.step(e.Step)
	if s == nil || s.attempt != e.Attempt {
		return true // a stream that began in the middle: the bus knows that the step is in flight
	}
	if s.cut {
		return false
	}
	s.sentText.add(text, enc.Complete)
	s.sentThinking.add(thinking, enc.Complete)
	return true
}

func (enc *Encoder) step(name string) *step {
	for i := range enc.steps {
		if s := &enc.steps[i]; s.name == name {
			return s
		}
	}
	return nil
}

func (enc *Encoder) place(e *event.Event) Place { return enc.placeOf(&e.Header) }

func (enc *Encoder) placeOf(h *event.Header) Place {
	return Place{Step: h.Step, Attempt: h.Attempt, Parent: enc.parent(h.Scope)}
}

// parent is the tool call whose agent a scope is.
func (enc *Encoder) parent(id string) string {
	if id == "" {
		return ""
	}
	for i := range enc.scopes {
		if s := &enc.scopes[i]; s.id == id {
			return s.call
		}
	}
	return ""
}

// take takes a durable event in.
func (enc *Encoder) take(e *event.Event) {
	if e.Live() {
		return
	}
	enc.last = max(enc.last, e.Seq)
	if e.Audience != event.Everyone && !enc.silent {
		enc.silent = true
		defer func() { enc.silent = false }()
	}
	switch b := e.Body.(type) {
	case *event.RunStarted:
		enc.begin(e, b)
	case *event.ScopeOpened:
		call := b.Call
		if call == "" { // a node or a branch works for the call that its parent works for
			call = enc.parent(b.Parent)
		}
		enc.scopes = append(enc.scopes, scope{b.ID, call})
	case *event.UserMessage:
		enc.send(&UserMessage{Text: event.TextOf(b.Content), Attachments: attachments(b.Content), MessageID: b.Mail})
	case *event.StepBegun:
		enc.stepped = true
		if b.Step == event.StepModel {
			enc.drop(e.Step)
			enc.steps = append(enc.steps, step{name: e.Step, attempt: e.Attempt, whole: true})
		}
	case *event.AssistantMessage:
		enc.message(e, b)
	case *event.StepEnded:
		enc.ended(e, b)
	case *event.Asked:
		enc.send(&Question{
			QuestionID: b.Token, Ask: b.Ask, Name: b.Name, Index: b.Index, Prompt: b.Prompt, Payload: b.Payload,
			Schema: b.Schema, ToolUseID: b.Call, ToolName: b.Tool, ToolInput: b.Args, ExpiresAt: b.Expires, Place: enc.place(e),
		})
	case *event.Answered:
		enc.send(&Answered{QuestionID: b.Token, By: b.By, Place: enc.place(e)})
	case *event.Fault:
		err := enc.wire(b.Err)
		enc.send(&Notice{Code: err.Code, Message: err.Message, Place: enc.place(e)})
	case *event.Notice:
		enc.send(&Notice{Code: b.Code, Message: b.Text, Place: enc.place(e)})
	case *event.Compacted:
		const says = "The conversation became long: its beginning is now a summary for the model."
		enc.send(&Notice{Code: "compacted", Message: says, Place: enc.place(e)})
	case *event.Redacted:
		if !b.Clean { // what the target shows is right
			enc.redact(b)
		}
	case *event.RunEnded:
		enc.done = enc.Run != ""
		enc.finish(b)
	}
}

// redact says that what an event said is shown no more. A run's last answer is not
// repeated at its end either.
func (enc *Encoder) redact(b *event.Redacted) {
	text := event.TextOf(b.Replacement)
	if len(b.Replacement) == 0 {
		text = "[redacted]"
	}
	if b.Target > 0 {
		if enc.answered == b.Target {
			enc.answer = text
		}
		if enc.saidAt == b.Target {
			enc.said = text
		}
	}
	enc.send(&Redacted{Target: b.Target, Text: text})
}

// reserved begins the keys of metadata that are the service's own.
const reserved = "braid."

func (enc *Encoder) begin(e *event.Event, b *event.RunStarted) {
	enc.run, enc.turn, enc.simulated = e.Run, b.Turn, e.Simulated
	enc.session = event.SessionID(enc.conversation, b.Session)
	enc.answer, enc.said = "", ""
	enc.answered, enc.saidAt, enc.stepped = 0, 0, false
	enc.scopes, enc.steps = enc.scopes[:0], enc.steps[:0]
	f := &Init{
		SessionID: enc.session, Model: b.Model, Turn: b.Turn, Tools: b.Tools, RunID: e.Run, Agent: b.Agent, Simulated: e.Simulated,
	}
	for _, s := range b.Servers {
		server := Server{Name: s.Name, Status: s.Status}
		for _, t := range s.Skipped {
			server.Skipped = append(server.Skipped, SkippedTool(t))
		}
		f.MCPServers = append(f.MCPServers, server)
	}
	for k, v := range b.Metadata {
		if !strings.HasPrefix(k, reserved) {
			if f.Metadata == nil {
				f.Metadata = make(map[string]string, len(b.Metadata))
			}
			f.Metadata[k] = v
		}
	}
	enc.send(f)
}

func (enc *Encoder) drop(name string) {
	enc.steps = slices.DeleteFunc(enc.steps, func(s step) bool { return s.name == name })
}

// message sends an answer, or what of it has been committed so far.
func (enc *Encoder) message(e *event.Event, b *event.AssistantMessage) {
	text, thinking := event.TextOf(b.Content), thinkingOf(b.Content)
	if s := enc.step(e.Step); s != nil && s.attempt == e.Attempt {
		s.text += text
		s.thinking += thinking
		text, thinking = s.text, s.thinking
		if enc.Complete && s.whole {
			enc.rest(s, e, text, thinking, b.Piece)
		}
	} else if b.Piece {
		enc.drop(e.Step)
		enc.steps = append(enc.steps, step{name: e.Step, attempt: e.Attempt, text: text, thinking: thinking})
	}
	if !b.Piece {
		enc.drop(e.Step)
	}
	// Without a step it is history that was handed in with the run, or later an answer
	// that no model gave.
	if e.Scope == "" && (e.Step != "" || enc.stepped) && e.Audience == event.Everyone {
		enc.answer, enc.answered = text, e.Seq
		if text != "" {
			enc.said, enc.saidAt = text, e.Seq
		}
	}
	place := enc.place(e)
	enc.send(&Message{
		Text: text, Thinking: thinking, Piece: b.Piece, StopReason: b.Stop, Model: b.Model, Usage: UsageOf(b.Usage),
		Simulated: e.Simulated, Place: place,
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
func (enc *Encoder) rest(s *step, e *event.Event, text, thinking string, behind bool) {
	if s.sentText.differs(text, behind) || s.sentThinking.differs(thinking, behind) {
		enc.send(&Snapshot{Place: enc.place(e)})
		s.sentText, s.sentThinking = sent{}, sent{}
	}
	if n := s.sentThinking.n; n < len(thinking) {
		enc.send(&Thinking{Text: thinking[n:], Place: enc.place(e)})
		s.sentThinking.add(thinking[n:], true)
	}
	if n := s.sentText.n; n < len(text) {
		enc.send(&TextDelta{Text: text[n:], Place: enc.place(e)})
		s.sentText.add(text[n:], true)
	}
}

// ended sends the end of a tool call, or of an attempt that another follows.
func (enc *Encoder) ended(e *event.Event, b *event.StepEnded) {
	if b.Step == event.StepModel {
		enc.drop(e.Step)
		if b.RetryAt.IsZero() && b.Outcome != event.OutcomeLost {
			return
		}
		f := &Retry{RetryAt: b.RetryAt, Model: b.Fallback, Place: enc.place(e)}
		if b.Err != nil {
			err := enc.wire(b.Err)
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
		ToolUseID: r.Call, ToolName: r.Name, Content: event.TextOf(r.Content), IsError: r.IsError, Structured: r.Structured,
		Attachments: attachments(r.Content), DurationMS: b.Duration.Milliseconds(), Place: enc.place(e),
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
func (enc *Encoder) finish(b *event.RunEnded) {
	end := End{
		Usage: UsageOf(b.Usage), TotalCostUSD: dollars(b.CostNanoUSD), Estimated: b.Estimated,
		NumTurns: b.Cycles, DurationMS: b.Duration.Milliseconds(),
		SessionID: enc.session, StopReason: b.Stop, RunID: enc.run, Turn: enc.turn, Status: b.Status, Simulated: enc.simulated,
	}
	for _, m := range b.Models {
		end.ModelUsage = append(end.ModelUsage, ModelUsage{m.Model, UsageOf(m.Usage), dollars(m.CostNanoUSD), m.Estimated})
	}
	bad := b.Err
	if bad == nil && b.Status != event.RunCompleted {
		bad = &event.Error{Kind: event.ErrInternal}
		if b.Status == event.RunCancelled {
			bad.Kind = event.ErrCancelled
		}
	}
	if b.Status == event.RunFailed && bad.Kind != event.ErrTimeout {
		err := enc.wire(bad)
		err.RequestID, err.Run = enc.RequestID, &end
		enc.send(err)
		return
	}
	r := &Result{Result: enc.answer, Errors: []string{}, End: end, StructuredOutput: b.Output}
	if len(b.Output) > 0 {
		r.Result = string(b.Output)
	}
	if bad != nil {
		r.Result, r.IsError, r.Error = cmp.Or(b.Partial, enc.said), true, enc.wire(bad)
		r.Errors = append(r.Errors, r.Error.Message)
	}
	enc.send(r)
}

// wire is an error as this wire has it; none is an internal one.
func (*Encoder) wire(err *event.Error) *Error {
	if err == nil {
		err = &event.Error{}
	}
	out, _ := ErrorOf(err)
	return &out
}

// SnapshotFrames is [Encoder.AppendSnapshot] as values. The list is good until the
// next call.
func (enc *Encoder) SnapshotFrames(s *event.Snapshot) []Frame {
	clear(enc.frames)
	enc.frames = enc.frames[:0]
	if s.Audience != event.Everyone || !enc.shows(&s.Header) {
		return nil
	}
	if s.Kind != event.StepModel {
		if p := s.Progress; p != nil {
			enc.send(&ToolProgress{ToolUseID: p.Call, ToolName: p.Tool, Text: p.Text, Data: p.Data, Place: enc.placeOf(&s.Header)})
		}
		return enc.frames
	}
	f := &Snapshot{Truncated: s.Truncated, Place: enc.placeOf(&s.Header)}
	known := enc.step(s.Step)
	if known != nil && known.attempt != s.Attempt {
		known = nil
	}
	if known != nil {
		f.Text, f.Thinking = known.text, known.thinking
	}
	for i := range s.Blocks {
		switch b := &s.Blocks[i]; b.Kind {
		case event.BlockText:
			f.Text += b.Text
		case event.BlockThinking:
			f.Thinking += b.Text
		}
	}
	switch {
	case known == nil:
		enc.drop(s.Step)
		enc.steps = append(enc.steps, step{name: s.Step, attempt: s.Attempt, cut: s.Truncated})
		known = &enc.steps[len(enc.steps)-1]
	case s.Truncated:
		known.cut = true
		if enc.Complete && known.whole {
			return enc.frames // the message brings the rest
		}
	case enc.Complete && known.whole:
		h := event.Event{Header: s.Header}
		enc.rest(known, &h, f.Text, f.Thinking, false)
		return enc.frames
	}
	known.whole = false
	enc.send(f)
	return enc.frames
}

func thinkingOf(blocks []event.Block) string {
	var text strings.Builder
	for _, b := range blocks {
		if t, ok := b.(*event.Thinking); ok {
			text.WriteString(t.Text)
		}
	}
	return text.String()
}

// attachments tells of the blocks that are no text.
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
