package floor

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"
)

var errCut = errors.New("the model's stream ended before its answer did")

// Stream answers input in the session and hands every event to the reader,
// which runs on the same goroutine. It ends after the model's last message,
// with an error, or when the reader breaks out.
//
// It is kept from being inlined into its reader: a compiler that sees both at
// once proves that nobody keeps an event and makes none, which is no measure
// for a program whose reader does something.
//
//go:noinline
func (a *Agent) Stream(ctx context.Context, s *Session, input string) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		run := s.begin()
		said := s.add(run, "user", UserSaid, &Message{Role: "user", Text: input})
		if !yield(said, nil) {
			return
		}
		var deltas int64
		for cycle := 1; ; cycle++ {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			req := Request{Messages: s.messages, Tools: a.specs, Cycle: cycle}
			var answer assembly
			for c, err := range a.model.Stream(ctx, &req) {
				if err != nil {
					yield(nil, err)
					return
				}
				kind := answer.take(&c)
				if kind == 0 {
					continue
				}
				deltas++
				e := &Event{
					N: deltas, Session: s.id, Run: run, Author: a.name,
					Time: time.Now(), Kind: kind, Delta: c.Text,
				}
				if !yield(e, nil) {
					return
				}
			}
			if answer.stop == "" {
				yield(nil, errCut)
				return
			}
			msg := answer.message()
			if !yield(s.add(run, a.name, ModelSaid, msg), nil) {
				return
			}
			if len(msg.Calls) == 0 {
				return
			}
			results := a.runTools(ctx, msg.Calls)
			done := s.add(run, a.name, ToolsDone, &Message{Role: "user", Results: results})
			if !yield(done, nil) {
				return
			}
		}
	}
}

// runTools runs the calls side by side; the results stand in the calls' order. A
// single call runs where it is: a goroutine of its own would cost twice as much,
// most of it for growing a new stack, and gain nothing but a way to give up on
// a tool that is stuck.
func (a *Agent) runTools(ctx context.Context, calls []Call) []Result {
	results := make([]Result, len(calls))
	if len(calls) == 1 {
		results[0] = a.runTool(ctx, &calls[0])
		return results
	}
	var wg sync.WaitGroup
	for i := range calls {
		beside(&wg, func() { results[i] = a.runTool(ctx, &calls[i]) })
	}
	wg.Wait()
	return results
}

func (a *Agent) runTool(ctx context.Context, c *Call) Result {
	r := Result{Call: c.ID, Name: c.Name}
	tool, ok := a.byName[c.Name]
	if !ok {
		r.Text, r.IsError = "there is no tool of this name", true
		return r
	}
	text, err := tool.Call(ctx, c.Args)
	if err != nil {
		text, r.IsError = err.Error(), true
	}
	r.Text = text
	return r
}

// assembly puts a model's chunks together.
type assembly struct {
	text  []byte
	calls []Call
	usage Usage
	stop  string
}

// take adds a chunk and says as what it is shown to the reader; 0 is not at all.
func (m *assembly) take(c *Chunk) Kind {
	switch c.Kind {
	case ChunkText:
		m.text = append(m.text, c.Text...)
		return TextDelta
	case ChunkCall:
		m.calls = append(m.calls, Call{ID: c.ID, Name: c.Text})
		return InputDelta
	case ChunkInput:
		call := &m.calls[len(m.calls)-1]
		call.Args = append(call.Args, c.Text...)
		return InputDelta
	case ChunkWhole:
		m.calls = append(m.calls, Call{ID: c.ID, Name: c.Text, Args: c.Args})
	case ChunkUsage:
		m.usage = *c.Usage
	case ChunkStop:
		m.stop = c.Stop
	}
	return 0
}

func (m *assembly) message() *Message {
	return &Message{
		Role: "assistant", Text: string(m.text), Calls: m.calls, Stop: m.stop, Usage: m.usage,
	}
}
