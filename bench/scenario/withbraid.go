package scenario

import (
	"context"
	"iter"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// scripted is the cheapest model that there can be: its chunks are made
// beforehand, and the first call of a run gets the first answer.
type scripted struct {
	answers [][]model.Chunk
	// called, where it is set, is told of each call before it is answered.
	called func(cycle, messages int)
}

// Info implements [braid.Model].
func (m *scripted) Info() model.Info { return model.Info{Name: "bench:scripted"} }

// Cancellable implements [model.Cancellable], as the models of all vendors do.
func (m *scripted) Cancellable() braid.Model { return m }

// Stream implements [braid.Model].
func (m *scripted) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	if m.called != nil {
		m.called(req.Cycle, len(req.Messages))
	}
	chunks := m.answers[min(req.Cycle, len(m.answers))-1]
	return func(yield func(model.Chunk, error) bool) {
		for i := range chunks {
			if !yield(chunks[i], nil) {
				return
			}
		}
	}
}

func add(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }

// unlimited lets a run have as many cycles as a scenario wants.
func unlimited() braid.Part {
	return braid.Limit(braid.Limits{Cycles: -1, ToolCalls: -1, Repeats: -1, RepeatNote: -1})
}

func braidAgent(m braid.Model) *braid.Agent {
	return braid.New("bench", m, braid.Func("add", "Adds two numbers.", add), unlimited())
}

// readBraid reads a run's events to the end and adds what it saw to w.
func readBraid(w *Work, events iter.Seq2[event.Event, error]) error {
	said := false
	for e, err := range events {
		if err != nil {
			return err
		}
		switch b := e.Body.(type) {
		case *event.TextDelta, *event.ToolInputDelta:
			w.Deltas++
		case *event.AssistantMessage:
			said = true
			for _, block := range b.Content {
				switch block := block.(type) {
				case *event.Text:
					w.Text = block.Text
				case *event.ToolCall:
					w.Calls++
					w.Text = ""
				}
			}
		case *event.StepEnded:
			if b.Result != nil && !b.Result.IsError {
				w.Results++
			}
		}
	}
	if !said {
		return errNoEvents
	}
	w.Runs++
	return nil
}

// braidRuns is a side of runs that have nothing to do with each other.
func braidRuns(name string, m braid.Model, each Work) Side {
	return Side{Name: name, Each: each, Batch: func(n int) func() (Work, error) {
		agent := braidAgent(m)
		return func() (Work, error) {
			var w Work
			for range n {
				if err := readBraid(&w, agent.Stream(context.Background(), "go")); err != nil {
					return w, err
				}
			}
			return w, nil
		}
	}}
}

// braidScript is [braidRuns] of a script.
func braidScript(script []answer) Side {
	return braidRuns("braid", &scripted{answers: braidChunks(script)}, work(script))
}

// braidConstruct constructs an agent with a tool that is there, or with a new
// one of a type whose schema is known.
func braidConstruct(ready bool) Side {
	return Side{Name: "braid", Each: Work{Runs: 1}, Batch: func(n int) func() (Work, error) {
		m := &scripted{}
		tool := braid.Func("add", "Adds two numbers.", add)
		return func() (Work, error) {
			var w Work
			for range n {
				t := tool
				if !ready {
					t = braid.Func("add", "Adds two numbers.", add)
				}
				w.Made = braid.New("bench", m, t)
				w.Runs++
			}
			return w, nil
		}
	}}
}

// braidWarm is a turn on a conversation that holds prior messages already.
func braidWarm(prior int) Side {
	script := []answer{text(1)}
	m := &scripted{answers: braidChunks(script)}
	return Side{
		Name: "braid", Each: work(script), Most: mostTurns(prior),
		Batch: func(n int) func() (Work, error) {
			agent := braidAgent(m)
			conversations := make([]*braid.Conversation, sessionsFor(prior, n))
			var failed error
			for i := range conversations {
				conversations[i] = braid.NewConversation()
				if err := fill(agent, conversations[i], prior); err != nil {
					failed = err
				}
			}
			return func() (Work, error) {
				var w Work
				for i := range n {
					in := braid.In(conversations[i/turnsEach(prior)])
					if err := readBraid(&w, agent.Stream(context.Background(), "go on", in)); err != nil {
						return w, err
					}
				}
				return w, failed
			}
		},
	}
}

// fill makes the conversation prior messages longer.
func fill(agent *braid.Agent, c *braid.Conversation, prior int) error {
	var w Work
	for range prior / 2 {
		if err := readBraid(&w, agent.Stream(context.Background(), "go on", braid.In(c))); err != nil {
			return err
		}
	}
	return nil
}

// braidCold is the first turn on a stored conversation of prior messages: each
// run opens it with a new handle, which has nothing in memory yet.
func braidCold(prior int) Side {
	script := []answer{text(1)}
	m := &scripted{answers: braidChunks(script)}
	return Side{
		Name: "braid", Each: work(script), Most: mostTurns(prior),
		Batch: func(n int) func() (Work, error) {
			agent := braidAgent(m)
			store := journal.NewMemory(journal.MemoryOptions{})
			failed := fill(agent, braid.Open(store, "c"), prior)
			return func() (Work, error) {
				var w Work
				for range n {
					in := braid.In(braid.Open(store, "c"))
					if err := readBraid(&w, agent.Stream(context.Background(), "go on", in)); err != nil {
						return w, err
					}
				}
				return w, failed
			}
		},
	}
}
