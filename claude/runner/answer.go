package runner

import (
	"context"
	"strings"
	"time"

	"github.com/braidrun/braid/claude"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// answer makes one answer of a model out of what the program writes.
type answer struct {
	session *session
	thread  *thread
	yield   func(model.Chunk, error) bool
	scope   string
	cycle   int

	// message is the one that arrives: its id, model, usage and stop reason. base is the index of its first block, next that
	// of the next block of any message.
	message  string
	model    string
	usage    event.Usage
	stop     string
	whole    bool
	base     int
	next     int
	streamed map[string]bool
	// sum is the usage of the messages before, which the program continued by itself.
	sum event.Usage
	// void says that what was sent of the answer is void; text replaces it.
	void bool
	// calls are those of the answer.
	calls []string
	// began is when a tool of the answer was seen to wait while its usage is unknown.
	began time.Time
	// left says that the caller has left; over that the turn has ended.
	left, over bool
}

// run sends the pieces of the answer, until it is whole.
func (a *answer) run(ctx context.Context) error {
	a.streamed = map[string]bool{}
	for {
		m, err := a.session.next(ctx, a.thread, a.known)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case nil:
			a.finishWhole()
			if a.stop == "tool_use" || a.thread.call != "" {
				return a.end(event.StopReason(a.stop))
			}
		case *claude.StreamEvent:
			if a.event(m); a.left {
				return context.Canceled
			}
			if m.Event.Type == "message_stop" && a.stop == "tool_use" {
				return a.end(event.StopToolUse)
			}
		case *claude.Assistant:
			a.assistant(m)
		case *claude.Result:
			return a.result(m)
		}
		if a.left {
			return context.Canceled
		}
	}
}

// send sends a piece.
func (a *answer) send(c model.Chunk) {
	if !a.left && !a.yield(c, nil) {
		a.left = true
	}
}

// event takes in a piece of an answer of the main agent.
func (a *answer) event(m *claude.StreamEvent) {
	e := &m.Event
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			a.begin(e.Message)
			a.streamed[a.message] = true
		}
	case "content_block_start":
		if e.Block != nil {
			a.block(a.base+e.Index, e.Block)
		}
	case "content_block_delta":
		i := a.base + e.Index
		switch e.Delta.Type {
		case "text_delta":
			a.text(i, e.Delta.Text)
		case "thinking_delta":
			a.send(model.Chunk{Kind: model.ChunkThinking, Index: i, Text: e.Delta.Thinking})
		case "signature_delta":
			a.send(model.Chunk{Kind: model.ChunkSignature, Index: i, Text: e.Delta.Signature})
		case "input_json_delta":
			if e.Delta.PartialJSON != "" {
				a.send(model.Chunk{Kind: model.ChunkCallInput, Index: i, Text: e.Delta.PartialJSON})
			}
		}
	case "message_delta":
		a.stop = e.Delta.StopReason
		if e.Usage != nil {
			u := e.Usage.Event()
			if u.Prompt() == 0 {
				u.Input, u.CacheRead, u.CacheWrite, u.CacheWriteHour = a.usage.Input, a.usage.CacheRead, a.usage.CacheWrite, a.usage.CacheWriteHour
			}
			u.Total = u.Prompt() + u.Output
			a.usage = u
		}
	case "message_stop":
		if a.stop == "" { // it broke off; another one takes its place
			a.void, a.calls, a.usage = true, nil, event.Usage{}
		}
	}
}

// begin begins a message. What the program says in several messages of one turn is one answer.
func (a *answer) begin(m *claude.ModelMessage) {
	a.sum = a.sum.Add(a.usage)
	a.message, a.model, a.usage, a.stop, a.whole, a.base = m.ID, m.Model, m.Usage.Event(), "", false, a.next
	a.began = time.Time{}
	a.send(model.Chunk{Kind: model.ChunkResponse, ID: m.ID, Text: m.Model})
}

// text sends a piece of text. The first one after an answer that broke off replaces that.
func (a *answer) text(index int, text string) {
	a.next = max(a.next, index+1)
	if a.void && text != "" {
		a.void = false
		a.send(model.Chunk{Kind: model.ChunkRedactOutput, Index: index, Text: text})
		return
	}
	a.send(model.Chunk{Kind: model.ChunkText, Index: index, Text: text})
}

// block begins a block, or sends a whole one.
func (a *answer) block(i int, b *claude.Block) {
	a.next = max(a.next, i+1)
	switch b.Type {
	case "text":
		if b.Text != "" {
			a.text(i, b.Text)
		}
	case "thinking":
		if b.Thinking != "" || b.Signature != "" {
			a.send(model.Chunk{Kind: model.ChunkThinking, Index: i, Text: b.Thinking})
		}
		if b.Signature != "" {
			a.send(model.Chunk{Kind: model.ChunkSignature, Index: i, Text: b.Signature})
		}
	case "redacted_thinking":
		a.send(model.Chunk{Kind: model.ChunkBlock, Index: i, Block: &event.RedactedThinking{Data: b.Data}})
	case "tool_use":
		name := strings.TrimPrefix(b.Name, mcpPrefix)
		if name == "Agent" {
			name = taskTool
		}
		a.calls = append(a.calls, b.ID)
		a.send(model.Chunk{Kind: model.ChunkCall, Index: i, ID: b.ID, Text: name})
		if len(b.Input) > 2 {
			a.send(model.Chunk{Kind: model.ChunkCallInput, Index: i, Text: string(b.Input)})
		}
	}
}

// assistant takes in a part of an answer that did not arrive in pieces.
func (a *answer) assistant(m *claude.Assistant) {
	if m.Message.Model == claude.SyntheticModel || a.streamed[m.Message.ID] {
		return
	}
	if m.Message.ID != a.message {
		a.begin(&m.Message)
	}
	a.whole, a.stop = true, m.Message.StopReason
	if a.stop != "" {
		a.usage = m.Message.Usage.Event()
	}
	for i := range m.Message.Content {
		a.block(a.next, &m.Message.Content[i])
	}
}

// patience is how long an answer whose tools wait may go without its usage.
const patience = 2 * time.Second

// known reports whether an answer that did not arrive in pieces is whole: its usage is in the program's transcript, or its
// tools have waited too long for that.
func (a *answer) known() bool {
	if !a.whole || a.message == "" {
		return false
	}
	s := a.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.final[a.message]; ok {
		return a.stop == "" || a.usage != f.usage
	}
	if !a.thread.finished && (!a.thread.waits || len(a.calls) == 0) {
		return false
	}
	if a.began.IsZero() {
		a.began = time.Now()
	}
	return time.Since(a.began) > patience
}

// finishWhole takes the final usage of an answer.
func (a *answer) finishWhole() {
	s := a.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.final[a.message]; ok {
		a.usage, a.stop = f.usage, f.stop
		return
	}
	a.stop = "tool_use"
	if len(a.calls) == 0 {
		a.stop = "end_turn"
	}
}

// end ends the answer.
func (a *answer) end(stop event.StopReason) error {
	total := a.sum.Add(a.usage)
	s := a.session
	s.mu.Lock()
	s.spent[a.model] = s.spent[a.model].Add(total)
	a.thread.waits = false
	a.thread.mayGo = false
	for i, id := range a.calls {
		s.callLocked(id).step = stepName(a.scope, a.cycle, i)
	}
	s.mu.Unlock()
	a.send(model.Chunk{Kind: model.ChunkUsage, Usage: &total})
	a.send(model.Chunk{Kind: model.ChunkStop, Stop: stop})
	a.over = stop != event.StopToolUse
	return nil
}

// result ends the answer with the turn. What the program used beyond what its messages have, such as an answer that broke
// off, counts here.
func (a *answer) result(r *claude.Result) error {
	if err := r.Err(); err != nil {
		return err
	}
	if a.message == "" {
		return &event.Error{Op: op, Kind: event.ErrModel, Message: "the program ended its turn without an answer"}
	}
	if used, ok := r.ModelUsage[a.model]; ok {
		s := a.session
		s.mu.Lock()
		before := s.spent[a.model]
		s.mu.Unlock()
		rest := event.Usage{
			Input: used.Input - before.Input, Output: used.Output - before.Output, CacheRead: used.CacheRead - before.CacheRead,
			CacheWrite: used.CacheWrite - before.CacheWrite, CacheWriteHour: used.CacheHour - before.CacheWriteHour,
			Reasoning: used.Thinking - before.Reasoning, WebSearches: used.WebSearches - before.WebSearches,
		}
		rest.Total = rest.Prompt() + rest.Output
		if rest.Input >= 0 && rest.Output >= 0 && rest.CacheRead >= 0 && rest.CacheWrite >= 0 {
			a.sum, a.usage = event.Usage{}, rest
		}
	}
	stop := event.StopReason(r.StopReason)
	switch stop {
	case event.StopEndTurn, event.StopSequence, event.StopMaxTokens, event.StopRefusal:
	default:
		stop = event.StopEndTurn
	}
	return a.end(stop)
}
