package server_test

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// breaks is a model that uses a clock and then fails as often as it is told.
type breaks struct{ fails *atomic.Int32 }

func (breaks) Info() model.Info { return model.Info{Name: "test:parrot", Simulated: true} }

func (b breaks) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		_, told := last.Content[0].(*event.ToolResult)
		switch {
		case !told && len(req.Messages) == 1:
			_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c1", Text: "clock"}, nil) &&
				yield(model.Chunk{Kind: model.ChunkCallInput, Text: "{}"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
		case b.fails.Add(-1) >= 0:
			yield(model.Chunk{}, &event.Error{Kind: event.ErrModelAuth, Message: "the key is wrong"})
		default:
			_ = yield(model.Chunk{Kind: model.ChunkText, Text: "it is noon"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
		}
	}
}

// A failed run is retried over HTTP in all three forms of an answer. The new run goes on behind the tool, a repeated request
// gets it again, and what cannot be retried says so.
func TestARunIsRetriedOverHTTP(t *testing.T) {
	t.Parallel()
	var fails, looked atomic.Int32
	fails.Store(3)
	s := open(t, func(o *service.Options, _ *server.Options) {
		unknown := o.Agent
		o.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
			if r.Model == "none" {
				return unknown(ctx, r)
			}
			return braid.New("assistant", breaks{&fails}, braid.Limit(r.Limits), braid.Func("clock", "", func(context.Context, struct{}) (string, error) {
				looked.Add(1)
				return "noon", nil
			})), nil
		}
	})
	conv := s.conversation()
	runs := "/v1/conversations/" + conv + "/runs"
	code := func(v map[string]any) string { return v["error"].(map[string]any)["code"].(string) }
	newest := func() string {
		list := s.json(200, "GET", runs, "")["data"].([]any)
		return list[len(list)-1].(map[string]any)["id"].(string)
	}
	retry := func() string { return runs + "/" + newest() + "/retry" }
	s.json(502, "POST", runs, `{"user_input":"what time is it?"}`, "Accept", "application/json")

	// Refused, and nothing is begun.
	failed := newest()
	for _, c := range []struct {
		status     int
		body, code string
	}{
		{400, `{"user_input":"go on"}`, "INVALID_REQUEST"},
		{400, `{"policy":"queue"}`, "INVALID_REQUEST"},
		{400, `{"limits":{"max_turns":-1}}`, "INVALID_REQUEST"},
		{422, `{"model":"none"}`, "MODEL_NOT_FOUND"},
	} {
		if got := code(s.json(c.status, "POST", retry(), c.body)); got != c.code {
			t.Errorf("%s: %s", c.body, got)
		}
	}
	if got := code(s.json(404, "POST", runs+"/run_none/retry", "")); got != "RUN_NOT_FOUND" {
		t.Errorf("no run: %s", got)
	}
	if newest() != failed {
		t.Error("a refused retry began a run")
	}

	// As JSON, as a stream, and at once; each fails but the last.
	s.json(502, "POST", retry(), "{}", "Accept", "application/json")
	if got := code(s.json(409, "POST", runs+"/"+failed+"/retry", "")); got != "RUN_NOT_RETRYABLE" {
		t.Errorf("a run that was retried: %s", got)
	}
	second := newest()
	list := s.read(retry(), "").rest()
	if list[0].name != "init" || list[len(list)-1].name != "error" || second == newest() {
		t.Fatalf("as a stream: %q", kinds(list))
	}
	path := retry()
	accepted := s.json(202, "POST", path, "{}", "Prefer", "respond-async", "Idempotency-Key", "k")
	whole := frames(t, s.ask("GET", accepted["stream"].(string), "").Body, nil)
	end := whole[len(whole)-1]
	if end.name != "result" || end.data["result"] != "it is noon" || accepted["turn"] != 4.0 || looked.Load() != 1 {
		t.Errorf("at once: %+v, %+v; the clock was looked at %d times", accepted, end, looked.Load())
	}
	for _, f := range whole {
		if f.name == "user_message" || f.name == "tool_use" {
			t.Errorf("it repeats %+v", f)
		}
	}
	again := s.read(path, "{}", "Idempotency-Key", "k")
	if got := again.rest(); strings.Join(kinds(got), ",") != strings.Join(kinds(whole), ",") || again.Header.Get("X-Run-Id") != accepted["id"] {
		t.Errorf("the repeated request streams\n%q, want\n%q", kinds(got), kinds(whole))
	}
	behind := s.read(path, "{}", "Idempotency-Key", "k", "Last-Event-ID", whole[0].id).rest()
	if got, want := kinds(behind), kinds(whole)[1:]; strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("behind the first frame it streams\n%q, want\n%q", got, want)
	}
	if got := code(s.json(422, "POST", path, `{"executor":"x"}`, "Idempotency-Key", "k")); got != "IDEMPOTENCY_MISMATCH" {
		t.Errorf("another body: %s", got)
	}
	if got := code(s.json(409, "POST", retry(), "")); got != "RUN_NOT_RETRYABLE" {
		t.Errorf("a complete run: %s", got)
	}
	s.json(200, "PATCH", "/v1/conversations/"+conv, `{"archived":true}`)
	if got := code(s.json(409, "POST", retry(), "")); got != "CONVERSATION_ARCHIVED" {
		t.Errorf("in the archive: %s", got)
	}
}
