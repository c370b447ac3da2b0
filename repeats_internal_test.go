package braid

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// stuck is a model that makes the same call for ever.
type stuck struct{}

func (stuck) Info() model.Info { return model.Info{Name: "test:stuck"} }

func (stuck) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range []model.Chunk{{Kind: model.ChunkCall, ID: "c", Text: "look"}, {Kind: model.ChunkCallInput, Text: `{}`}, {Kind: model.ChunkStop, Stop: event.StopToolUse}} {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// looker is a tool that always says the same.
type looker struct{}

func (looker) Spec() model.ToolSpec {
	return model.ToolSpec{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (looker) Call(context.Context, json.RawMessage) (tool.Output, error) {
	return tool.Text("nothing"), nil
}

func (looker) Traits() tool.Traits { return tool.Traits{Effect: event.EffectPure} }

// Wherever a driver dies, the next one counts on, and notes once.
func TestALoopIsCountedOn(t *testing.T) {
	t.Parallel()
	agent := New("root", stuck{}, Tools(looker{}))
	conv, err := cutLog(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := agent.Run(t.Context(), "go", In(conv)); err == nil || r.Stop != event.StopLimitRepeats {
		t.Fatal(err, r.Stop)
	}
	log := conv.logged()
	for n := 1; n < len(log); n++ {
		cut, err := cutLog(log[:n], []string{"go"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := agent.Resume(t.Context(), cut)
		if err == nil || r.Stop != event.StopLimitRepeats || r.Metrics.ToolCalls != 5 {
			t.Errorf("cut after %d: %s after %d calls: %v", n, r.Stop, r.Metrics.ToolCalls, err)
		}
		notes := 0
		for _, e := range cut.logged() {
			if b, ok := e.Body.(*event.UserMessage); ok && b.Why == event.WhyRepeats {
				notes++
			}
		}
		if notes != 1 {
			t.Errorf("cut after %d: noted %d times", n, notes)
		}
	}
}
