package server_test

import (
	"context"
	"encoding/json"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/tool"
)

// eager asks for its tool without end. A call uses 20 tokens in and 5 out, at a micro-dollar each.
type eager struct{ calls *atomic.Int64 }

func (eager) Info() model.Info {
	return model.Info{Name: "test:eager", Cost: func(u event.Usage) (int64, bool) { return u.Total * 1000, true }}
}

func (m eager) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	m.calls.Add(1)
	return func(yield func(model.Chunk, error) bool) {
		_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c", Text: "clock"}, nil) &&
			yield(model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 20, Output: 5, Total: 25}}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
	}
}

// What a request bounds is bounded, in a run and in the conversation, and the stop reason says by what.
func TestLimitsOverHTTP(t *testing.T) {
	t.Parallel()
	var asked braid.Limits
	var calls atomic.Int64
	s := open(t, func(so *service.Options, _ *server.Options) {
		so.Agent = func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
			asked = r.Limits
			var model braid.Model = eager{&calls}
			if r.Model == "test:parrot" {
				model = parrot{} // which has no price
			}
			return braid.New("assistant", model, braid.Limit(r.Limits),
				braid.Func("clock", "", func(context.Context, struct{}) (string, error) { return "noon", nil }, tool.Pure())), nil
		}
	})
	end := func(conv, limits string) (stop string, cycles int64) {
		t.Helper()
		calls.Store(0)
		list := frames(t, s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"go","limits":`+limits+`}`).Body, nil)
		last := list[len(list)-1].data
		if last["status"] != "completed" {
			t.Errorf("%s: the last frame is %v", limits, last)
		}
		stop, _ = last["stop_reason"].(string)
		return stop, calls.Load()
	}
	for _, c := range []struct {
		limits, stop string
		cycles       int64
	}{
		{`{"max_turns":2}`, "limit_cycles", 2},
		{`{"max_tool_calls":3}`, "limit_tool_calls", 3},
		{`{"max_input_tokens":60}`, "limit_input_tokens", 3},
		{`{"max_output_tokens":10}`, "limit_output_tokens", 2},
		{`{"max_total_tokens":100}`, "limit_total_tokens", 4},
		{`{"max_cost_usd":0.00005}`, "limit_cost", 2},
		{`{"conversation":{"max_cycles":2}}`, "limit_cycles", 2},
		{`{"conversation":{"max_tool_calls":2}}`, "limit_tool_calls", 2},
		{`{"conversation":{"max_input_tokens":40}}`, "limit_input_tokens", 2},
		{`{"conversation":{"max_output_tokens":15}}`, "limit_output_tokens", 3},
		{`{"conversation":{"max_total_tokens":25}}`, "limit_total_tokens", 1},
		{`{"conversation":{"max_cost_usd":0.000075}}`, "limit_cost", 3},
	} {
		if stop, cycles := end(s.conversation(), c.limits); stop != c.stop || cycles != c.cycles {
			t.Errorf("%s: it stopped with %s after %d cycles, want %s after %d", c.limits, stop, cycles, c.stop, c.cycles)
		}
	}

	conv := s.conversation()
	for _, want := range []int64{2, 1, 0} {
		if stop, cycles := end(conv, `{"max_turns":2,"conversation":{"max_total_tokens":75,"timeout_seconds":60}}`); cycles != want {
			t.Errorf("it stopped with %s after %d cycles, want %d", stop, cycles, want)
		}
	}
	if asked.Conversation.Active != time.Minute || asked.AllCycles != 2 {
		t.Errorf("the agent was asked for with %+v", asked)
	}
	if stop, cycles := end(conv, `{"max_turns":1}`); stop != "limit_cycles" || cycles != 1 {
		t.Errorf("without a budget it stopped with %s after %d cycles", stop, cycles)
	}

	runs := "/v1/conversations/" + conv + "/runs"
	for _, body := range []string{
		`{"user_input":"go","limits":{"max_cost_usd":-1}}`, `{"user_input":"go","limits":{"conversation":{"max_cycles":-1}}}`,
		`{"user_input":"go","limits":{"max_cost_usd":1e999}}`, `{"user_input":"go","limits":{"conversation":{"max_turns":1}}}`,
		`{"user_input":"go","model":"test:parrot","limits":{"max_cost_usd":1}}`,
	} {
		res := s.ask("POST", runs, body)
		var v struct {
			Error struct{ Message, Hint string }
		}
		if err := json.NewDecoder(res.Body).Decode(&v); err != nil || res.StatusCode != 400 && res.StatusCode != 422 || v.Error.Message == "" || v.Error.Hint == "" {
			t.Errorf("%s: %d %+v, %v", body, res.StatusCode, v, err)
		}
	}
}
