package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Read is the result of a call.
type Read struct {
	// Content is the content after joining the chunks of each block. The Args of a call are
	// unchanged, even if they are not JSON.
	Content []event.Block
	Stop    event.StopReason
	Usage   event.Usage
	ID      string
	Model   string
	// Pieces counts the chunks with content, Stops the end signals.
	Pieces, Stops int
	// RedactedInput and RedactedOutput replace what a guardrail removed.
	RedactedInput, RedactedOutput string
	Err                           error
}

// Call calls the model and reads its answer to the end.
func Call(ctx context.Context, m model.Model, req *model.Request) Read {
	var chunks []model.Chunk
	var failed error
	late := false
	for c, err := range m.Stream(ctx, req) {
		if err != nil {
			failed = err
			continue // whoever yields more after an error is found out
		}
		late = late || failed != nil
		chunks = append(chunks, c)
	}
	r := Put(chunks, failed)
	if late {
		r.Stops += 100
	}
	return r
}

// Put puts chunks together. Chunks behind the end signal, which nobody may send
// but for usage, count as a hundred end signals.
func Put(chunks []model.Chunk, err error) Read {
	r := Read{Err: err}
	type place struct {
		index int
		kind  model.ChunkKind
	}
	texts, thoughts, calls := map[int]*event.Text{}, map[int]*event.Thinking{}, map[int]*event.ToolCall{}
	whole := map[place]bool{}
	thought := func(i int) *event.Thinking { return one(&r, thoughts, i, &event.Thinking{}) }
	called := func(i int) *event.ToolCall { return one(&r, calls, i, &event.ToolCall{}) }
	for i := range chunks {
		c := &chunks[i]
		if r.Stops > 0 && c.Kind != model.ChunkUsage {
			r.Stops += 100
		}
		switch c.Kind {
		case model.ChunkText:
			one(&r, texts, c.Index, &event.Text{}).Text += c.Text
		case model.ChunkThinking:
			thought(c.Index).Text += c.Text
		case model.ChunkSignature:
			// It belongs to the block that has come under this index.
			if b, ok := texts[c.Index]; ok {
				b.Signature += c.Text
			} else if b, ok := calls[c.Index]; ok {
				b.Signature += c.Text
			} else {
				thought(c.Index).Signature += c.Text
				if c.ID != "" {
					thought(c.Index).Prefix = c.ID
				}
			}
		case model.ChunkCall:
			called(c.Index).ID, called(c.Index).Name = c.ID, c.Text
		case model.ChunkCallInput:
			called(c.Index).Args = append(called(c.Index).Args, c.Text...)
		case model.ChunkBlock:
			if at := (place{c.Index, c.Kind}); !whole[at] {
				whole[at] = true
				r.Content = append(r.Content, c.Block)
			}
		case model.ChunkUsage:
			r.Usage = *c.Usage
			continue
		case model.ChunkStop:
			r.Stop = c.Stop
			r.Stops++
			continue
		case model.ChunkThinkingDropped:
			continue
		case model.ChunkRedactInput:
			r.RedactedInput = c.Text
			continue
		case model.ChunkRedactOutput:
			r.RedactedOutput = c.Text
			continue
		case model.ChunkResponse:
			r.ID, r.Model = c.ID, c.Text
			continue
		}
		r.Pieces++
	}
	return r
}

// one gives the block of an index, which begins with its first chunk.
func one[B event.Block](r *Read, have map[int]B, index int, fresh B) B {
	if b, ok := have[index]; ok {
		return b
	}
	have[index] = fresh
	r.Content = append(r.Content, fresh)
	return fresh
}

// mustAnswer fails the test unless the call went well.
func mustAnswer(t *testing.T, r Read) Read {
	t.Helper()
	if r.Err != nil || r.Stops != 1 {
		t.Fatalf("the call failed: %v; %d end signals", r.Err, r.Stops)
	}
	return r
}

// mustFail fails the test unless the call ended with an error of this kind that
// says what happened.
func mustFail(t *testing.T, r Read, want event.ErrorKind) {
	t.Helper()
	if e := failure(t, r, want); e.Message == "" || e.Op == "" {
		t.Fatalf("the error says too little: %+v", e)
	}
}

// failure is the error of a call that ended with one of this kind.
func failure(t *testing.T, r Read, want event.ErrorKind) *event.Error {
	t.Helper()
	var e *event.Error
	switch {
	case r.Err == nil:
		t.Fatalf("no error, want %s; content %s", want, blocks(r.Content))
	case r.Stops != 0:
		t.Fatalf("%d end signals beside the error %v, or pieces behind it", r.Stops, r.Err)
	case !errors.As(r.Err, &e):
		t.Fatalf("%T is no *event.Error: %v", r.Err, r.Err)
	case e.Kind != want:
		t.Fatalf("kind %s, want %s: %v", e.Kind, want, e)
	}
	return e
}

func blocks(b []event.Block) string {
	out, err := event.AppendBlocks(nil, b)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// request is the smallest one.
func request(messages ...event.Message) *model.Request {
	if len(messages) == 0 {
		messages = []event.Message{user(text("Hello."))}
	}
	return &model.Request{Run: "run", Cycle: 1, Attempt: 1, Instructions: "Be brief.", Messages: messages}
}

func user(b ...event.Block) event.Message { return event.Message{Role: event.RoleUser, Content: b} }
func assistant(b ...event.Block) event.Message {
	return event.Message{Role: event.RoleAssistant, Content: b}
}
func text(s string) event.Block { return &event.Text{Text: s} }
func call(id, name, args string) event.Block {
	return &event.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}
}

func result(id, name string, content ...event.Block) *event.ToolResult {
	return &event.ToolResult{Call: id, Name: name, Content: content}
}

func tool(name string) model.ToolSpec {
	return model.ToolSpec{
		Name: name, Description: "Does what " + name + " does.",
		Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":["string","null"]}},"required":["a"]}`),
	}
}

// pieces cuts a text into chunks.
func pieces(kind model.ChunkKind, index int, texts ...string) []model.Chunk {
	out := make([]model.Chunk, len(texts))
	for i, s := range texts {
		out[i] = model.Chunk{Kind: kind, Index: index, Text: s}
	}
	return out
}

func calling(index int, id, name string, input ...string) []model.Chunk {
	return append([]model.Chunk{{Kind: model.ChunkCall, Index: index, ID: id, Text: name}}, pieces(model.ChunkCallInput, index, input...)...)
}

func join(all ...[]model.Chunk) []model.Chunk {
	var out []model.Chunk
	for _, c := range all {
		out = append(out, c...)
	}
	return out
}
