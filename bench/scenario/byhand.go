package scenario

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"

	"github.com/braidrun/braid/bench/floor"
)

// byHandModel follows a script: the first call of a run gets the first answer.
type byHandModel struct {
	answers [][]floor.Chunk
	// called, where it is set, is told of each call before it is answered.
	called func(cycle, messages int)
}

// Stream implements [floor.Model].
func (m *byHandModel) Stream(_ context.Context, req *floor.Request) iter.Seq2[floor.Chunk, error] {
	if m.called != nil {
		m.called(req.Cycle, len(req.Messages))
	}
	chunks := m.answers[min(req.Cycle, len(m.answers))-1]
	return func(yield func(floor.Chunk, error) bool) {
		for i := range chunks {
			if !yield(chunks[i], nil) {
				return
			}
		}
	}
}

type sum struct {
	A int `json:"a" jsonschema:"first number"`
	B int `json:"b" jsonschema:"second number"`
}

var addSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"a":{"type":"integer","description":"first number"},` +
	`"b":{"type":"integer","description":"second number"}},` +
	`"required":["a","b"],"additionalProperties":false}`)

// byHandAdd is the tool as one writes it by hand: the schema is a literal, the
// arguments are decoded into a struct.
func byHandAdd() *floor.Tool {
	return &floor.Tool{
		Spec: floor.Spec{Name: "add", Description: "Adds two numbers.", Schema: addSchema},
		Call: func(_ context.Context, args []byte) (string, error) {
			var in sum
			if err := json.Unmarshal(args, &in); err != nil {
				return "", err
			}
			return strconv.Itoa(in.A + in.B), nil
		},
	}
}

// readByHand reads a run's events to the end and adds what it saw to w.
func readByHand(w *Work, events iter.Seq2[*floor.Event, error]) error {
	said := false
	for e, err := range events {
		if err != nil {
			return err
		}
		switch e.Kind {
		case floor.TextDelta, floor.InputDelta:
			w.Deltas++
		case floor.ModelSaid:
			said = true
			w.Calls += len(e.Message.Calls)
			w.Text = e.Message.Text
		case floor.ToolsDone:
			w.Results += len(e.Message.Results)
		}
	}
	if !said {
		return errNoEvents
	}
	w.Runs++
	return nil
}

// byHandRuns is a side of runs that have nothing to do with each other: each
// has a session of its own.
func byHandRuns(script []answer) Side {
	m := &byHandModel{answers: byHandChunks(script)}
	return Side{Name: "floor", Each: work(script), Batch: func(n int) func() (Work, error) {
		agent := floor.New("bench", m, byHandAdd())
		return func() (Work, error) {
			var w Work
			for range n {
				err := readByHand(&w, agent.Stream(context.Background(), floor.NewSession("s"), "go"))
				if err != nil {
					return w, err
				}
			}
			return w, nil
		}
	}}
}

// byHandValues is [byHandRuns] on the floor that passes events by value.
func byHandValues(script []answer) Side {
	m := &byHandModel{answers: byHandChunks(script)}
	return Side{Name: "tuned floor", Each: work(script), Batch: func(n int) func() (Work, error) {
		agent := floor.New("bench", m, byHandAdd())
		return func() (Work, error) {
			var w Work
			for range n {
				for e, err := range agent.Values(context.Background(), floor.NewSession("s"), "go") {
					if err != nil {
						return w, err
					}
					switch e.Kind {
					case floor.TextDelta, floor.InputDelta:
						w.Deltas++
					case floor.ModelSaid:
						w.Text = e.Message.Text
					}
				}
				w.Runs++
			}
			return w, nil
		}
	}}
}

// byHandAgent constructs an agent with a tool that is there, or with a new one.
func byHandAgent(ready bool) Side {
	return Side{Name: "floor", Each: Work{Runs: 1}, Batch: func(n int) func() (Work, error) {
		m := &byHandModel{}
		tool := byHandAdd()
		return func() (Work, error) {
			var w Work
			for range n {
				t := tool
				if !ready {
					t = byHandAdd()
				}
				w.Made = floor.New("bench", m, t)
				w.Runs++
			}
			return w, nil
		}
	}}
}

// byHandWarm is a turn on a session that holds prior messages already.
func byHandWarm(prior int) Side {
	script := []answer{text(1)}
	m := &byHandModel{answers: byHandChunks(script)}
	return Side{
		Name: "floor", Each: work(script), Most: mostTurns(prior),
		Batch: func(n int) func() (Work, error) {
			agent := floor.New("bench", m, byHandAdd())
			sessions := make([]*floor.Session, sessionsFor(prior, n))
			var filled Work
			var failed error
			for i := range sessions {
				sessions[i] = floor.NewSession("s")
				for range prior / 2 {
					err := readByHand(&filled, agent.Stream(context.Background(), sessions[i], "go on"))
					if err != nil {
						failed = err
					}
				}
			}
			return func() (Work, error) {
				var w Work
				for i := range n {
					s := sessions[i/turnsEach(prior)]
					if err := readByHand(&w, agent.Stream(context.Background(), s, "go on")); err != nil {
						return w, err
					}
				}
				return w, failed
			}
		},
	}
}

// byHandCold is the first turn on a stored session of prior messages.
func byHandCold(prior int) Side {
	side := byHandWarm(prior)
	m := &byHandModel{answers: byHandChunks([]answer{text(1)})}
	side.Batch = func(n int) func() (Work, error) {
		agent := floor.New("bench", m, byHandAdd())
		stored := floor.NewSession("s")
		var filled Work
		var failed error
		for range prior / 2 {
			if err := readByHand(&filled, agent.Stream(context.Background(), stored, "go on")); err != nil {
				failed = err
			}
		}
		return func() (Work, error) {
			var w Work
			for range n {
				s := floor.Load("s", stored.Events())
				if err := readByHand(&w, agent.Stream(context.Background(), s, "go on")); err != nil {
					return w, err
				}
			}
			return w, failed
		}
	}
	return side
}
