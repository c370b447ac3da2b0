package service_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/tool"
)

// guarded is a model whose provider lets nobody speak of secrets, and which calls a tool
// often before that is found out.
type guarded struct{ cycles int }

func (guarded) Info() model.Info { return model.Info{Name: "test:parrot"} }

func (g guarded) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if req.Cycle < g.cycles {
			_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c", Text: "look"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "the secret is"}, nil) &&
			yield(model.Chunk{Kind: model.ChunkRedactInput, Text: "(hidden)"}, nil) &&
			yield(model.Chunk{Kind: model.ChunkRedactOutput, Text: "(no)"}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopGuardrail}, nil)
	}
}

// What a guardrail took back is in no view of the conversation, whatever page of the log
// it is read by, however far behind it the redaction stands.
func TestNoViewShowsWhatIsRedacted(t *testing.T) {
	t.Parallel()
	for _, cycles := range []int{1, 80} { // 80 cycles are more events than a page of any view
		synctest.Test(t, func(t *testing.T) {
			// With tools it is the last result that is taken back, and the question stays.
			input, kind, title, calls := "my secret", `"user_message"`, "(hidden)", 0
			if cycles > 1 {
				input, kind, title = "hello", `"step_ended"`, "hello"
			}
			h := open(t, func(o *service.Options) {
				o.Agent = func(context.Context, service.AgentRequest) (*braid.Agent, error) {
					look := func(context.Context, struct{}) (string, error) {
						if calls++; calls == cycles-1 {
							return "my secret", nil
						}
						return "no", nil
					}
					return braid.New("assistant", guarded{cycles}, braid.Func("look", "", look, tool.Polling())), nil
				}
			})
			conv := h.conversation(t)
			started, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: input})
			if err != nil {
				t.Fatal(err)
			}
			if end := h.wait(t, conv, started); end.Stop != event.StopGuardrail {
				t.Fatalf("it ended with %+v", end)
			}
			hidden := 0
			look := func(view string, e *event.Event) {
				raw, err := event.AppendJSON(nil, e)
				if err != nil || strings.Contains(string(raw), "secret") {
					t.Errorf("%d cycles: %s shows %s (%v)", cycles, view, raw, err)
				}
				if strings.Contains(string(raw), kind) && strings.Contains(string(raw), "(hidden)") {
					hidden++
				}
			}
			for _, page := range []int{1, 2, 5, 100, 1000} {
				last := int64(0)
				for more := true; more; {
					events, err := h.Events(t.Context(), ann, conv, last, page)
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range events {
						look("a page", e)
						last = e.Seq
					}
					more = len(events) == page
				}
			}
			events, err := h.Export(t.Context(), ann, conv)
			if err != nil {
				t.Fatal(err)
			}
			for e, err := range events {
				if err != nil {
					t.Fatal(err)
				}
				look("the export", e)
			}
			f, err := h.Follow(t.Context(), ann, conv, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for ended := false; !ended; {
				var items [8]live.Item
				n, err := f.Read(t.Context(), items[:])
				if err != nil {
					t.Fatal(err)
				}
				for _, item := range items[:n] {
					if item.Event != nil {
						look("a follower", item.Event)
						_, ended = item.Event.Body.(*event.RunEnded)
					}
				}
			}
			if hidden != 7 {
				t.Errorf("%d cycles: %d views show what stands instead", cycles, hidden)
			}
			named, err := h.Title(t.Context(), ann, conv)
			if err != nil || named != title {
				t.Errorf("the title is %q, %v", named, err)
			}
			for _, at := range []int64{0, 2, 3} {
				fork, err := h.ForkConversation(t.Context(), ann, conv, at)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range fork.History {
					if strings.Contains(m.Text(), "secret") {
						t.Errorf("a fork at %d knows %q", at, m.Text())
					}
				}
			}
		})
	}
}
