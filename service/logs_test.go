package service_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service"
)

// tell has a run answer, and waits for its end.
func (h *house) tell(t *testing.T, conv, text string) service.Started {
	t.Helper()
	s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: text, Executor: "web"})
	if err != nil {
		t.Fatal(err)
	}
	h.wait(t, conv, s)
	synctest.Wait()
	return s
}

// briefs is what messages say, in few words.
func briefs(rows []journal.MessageEntry) string {
	var list []string
	for _, r := range rows {
		list = append(list, r.Type+"/"+r.Subtype)
	}
	return strings.Join(list, " ")
}

func TestTheLogsOfARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		ctx := t.Context()
		conv := h.conversation(t)
		one := h.tell(t, conv, "use sleep")
		two := h.tell(t, conv, "hello")
		// The store has them as soon as the run has ended: nobody has asked for them yet.
		if kept, err := h.store.Messages(ctx, journal.MessageQuery{Tenant: "acme", Conversation: conv}); err != nil || len(kept) != 10 {
			t.Errorf("%d messages are kept, %v", len(kept), err)
		}

		usage, next, err := h.Usage(ctx, ann, service.LogQuery{Conversation: conv})
		if err != nil || next != "" || len(usage) != 3 {
			t.Fatalf("usage is %+v, %q, %v", usage, next, err)
		}
		if u := usage[2]; u.Run != one.Run.ID || u.Tenant != "acme" || u.Turn != 1 || u.Executor != "web" || u.Call != "" ||
			u.Model != "test:parrot" || u.Status != event.OutcomeDone || u.RunStatus != event.RunCompleted || u.CostNanoUSD != nil {
			t.Errorf("the first row is %+v", u)
		}
		sums, _, err := h.UsageSums(ctx, ann, service.LogQuery{Executor: "web"}, journal.UsageByRun)
		if err != nil || len(sums) != 2 || sums[0].Calls+sums[1].Calls != 3 {
			t.Errorf("sums are %+v, %v", sums, err)
		}
		tools, _, err := h.ToolLog(ctx, ann, service.LogQuery{Tool: "sleep"})
		if err != nil || len(tools) != 1 || tools[0].Call != "c1" || tools[0].Source != "builtin" || tools[0].Status != journal.ToolDone ||
			event.TextOf(tools[0].Output) != "slept" || tools[0].Finished.Sub(tools[0].Began).Minutes() != 1 {
			t.Errorf("the tool log is %+v, %v", tools, err)
		}
		messages, _, err := h.MessageLog(ctx, ann, service.LogQuery{Conversation: conv})
		const want = "system/init user/text assistant/tool_use user/tool_result assistant/text result/success " +
			"system/init user/text assistant/text result/success"
		if err != nil || briefs(messages) != want {
			t.Fatalf("the messages are %s, %v", briefs(messages), err)
		}
		if m := messages[9]; m.Run != two.Run.ID || m.Turn != 2 || !strings.Contains(string(m.Content), `"result":"you said hello"`) {
			t.Errorf("the last one is %+v %s", m, m.Content)
		}
		if m := messages[3]; m.Call != "c1" || !strings.Contains(string(m.Content), `"text":"slept"`) {
			t.Errorf("the tool's is %+v %s", m, m.Content)
		}

		// What is lost is made again, the same.
		for _, run := range []string{one.Run.ID, two.Run.ID} {
			if err := h.store.KeepMessages(ctx, run, nil); err != nil {
				t.Fatal(err)
			}
		}
		again, _, err := h.MessageLog(ctx, ann, service.LogQuery{Conversation: conv})
		if err != nil || len(again) != len(messages) {
			t.Fatalf("made again they are %s, %v", briefs(again), err)
		}
		for i := range again {
			if string(again[i].Content) != string(messages[i].Content) || again[i].MessagePlace != messages[i].MessagePlace {
				t.Errorf("made again, %s is %s", messages[i].Content, again[i].Content)
			}
		}
		if err := h.RebuildMessages(ctx, ann, conv); err != nil {
			t.Error(err)
		}
	})
}

func TestPagesOfTheLogs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		ctx := t.Context()
		conv := h.conversation(t)
		for range 3 {
			h.tell(t, conv, "use sleep")
		}
		type list = func(p service.Principal, q service.LogQuery) (n int, next string, err error)
		for name, c := range map[string]struct {
			of   list
			want int
		}{
			"usage": {func(p service.Principal, q service.LogQuery) (int, string, error) {
				rows, next, err := h.Usage(ctx, p, q)
				return len(rows), next, err
			}, 6},
			"sums": {func(p service.Principal, q service.LogQuery) (int, string, error) {
				rows, next, err := h.UsageSums(ctx, p, q, journal.UsageByRun)
				return len(rows), next, err
			}, 3},
			"tools": {func(p service.Principal, q service.LogQuery) (int, string, error) {
				rows, next, err := h.ToolLog(ctx, p, q)
				return len(rows), next, err
			}, 3},
			"messages": {func(p service.Principal, q service.LogQuery) (int, string, error) {
				rows, next, err := h.MessageLog(ctx, p, q)
				return len(rows), next, err
			}, 18},
		} {
			q := service.LogQuery{Conversation: conv, Limit: 2}
			got, cursor := 0, ""
			for range 20 {
				n, next, err := c.of(ann, q)
				if err != nil || n > 2 {
					t.Fatalf("%s: %d, %v", name, n, err)
				}
				got += n
				if q.Cursor = next; next == "" {
					break
				}
				cursor = next
			}
			if got != c.want {
				t.Errorf("%s: pages hold %d, want %d", name, got, c.want)
			}
			zoe := service.Principal{Tenant: "zeta"}
			forged := "x" + cursor[1:]
			if forged == cursor { // it begins by chance
				forged = "y" + cursor[1:]
			}
			for what, bad := range map[string]struct {
				p service.Principal
				q service.LogQuery
			}{
				"a forged cursor":     {ann, service.LogQuery{Conversation: conv, Cursor: forged}},
				"nonsense":            {ann, service.LogQuery{Conversation: conv, Cursor: "💥"}},
				"another filter's":    {ann, service.LogQuery{Conversation: conv, Run: "run_x", Cursor: cursor}},
				"another tenant's":    {zoe, service.LogQuery{Conversation: conv, Cursor: cursor}},
				"a page too large":    {ann, service.LogQuery{Conversation: conv, Limit: service.MostPage + 1}},
				"a page of less":      {ann, service.LogQuery{Conversation: conv, Limit: -1}},
				"a list of something": {ann, service.LogQuery{Conversation: conv, Executor: "y", Cursor: cursor}},
			} {
				if _, _, err := c.of(bad.p, bad.q); !errors.Is(err, event.ErrInvalid) {
					t.Errorf("%s with %s: %v", name, what, err)
				}
			}
			if n, _, err := c.of(zoe, service.LogQuery{Conversation: conv}); n != 0 || err != nil {
				t.Errorf("%s: another tenant sees %d, %v", name, n, err)
			}
			if _, _, err := c.of(service.Principal{}, service.LogQuery{Conversation: conv}); !errors.Is(err, event.ErrPermission) {
				t.Errorf("%s for nobody: %v", name, err)
			}
		}
	})
}

// A run that waits and is driven again, maybe elsewhere, has all its messages, and its rows once.
func TestTheLogsOfARunThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		ctx := t.Context()
		conv := h.conversation(t)
		s, err := h.StartRun(ctx, ann, conv, service.RunRequest{Input: "use ask"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		tools, _, err := h.ToolLog(ctx, ann, service.LogQuery{})
		if err != nil || len(tools) != 1 || tools[0].Status != journal.ToolWaiting || !tools[0].Finished.IsZero() {
			t.Fatalf("the tool log is %+v, %v", tools, err)
		}
		questions, err := h.Questions(ctx, ann, conv)
		if err != nil || len(questions) != 1 {
			t.Fatal(questions, err)
		}
		if _, err := h.Answer(ctx, ann, conv, questions[0].Token, []byte("true")); err != nil {
			t.Fatal(err)
		}
		h.wait(t, conv, s)
		synctest.Wait()
		tools, _, err = h.ToolLog(ctx, ann, service.LogQuery{})
		if err != nil || len(tools) != 1 || tools[0].Status != journal.ToolDone || tools[0].Attempt != 2 || string(tools[0].Input) != "{}" {
			t.Errorf("the tool log is %+v, %v", tools, err)
		}
		messages, _, err := h.MessageLog(ctx, ann, service.LogQuery{Conversation: conv})
		if err != nil || briefs(messages) != "system/init user/text assistant/tool_use user/tool_result assistant/text result/success" {
			t.Errorf("the messages are %s, %v", briefs(messages), err)
		}
	})
}

// What a guardrail takes back is in no log.
func TestTheLogsKeepNothingThatIsRedacted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const canary = "CANARY-4711"
		h := open(t, func(o *service.Options) {
			o.Agent = func(context.Context, service.AgentRequest) (*braid.Agent, error) {
				return braid.New("assistant", hushed{}), nil
			}
		})
		conv := h.conversation(t)
		h.tell(t, conv, canary)
		messages, _, err := h.MessageLog(t.Context(), ann, service.LogQuery{Conversation: conv})
		if err != nil || len(messages) == 0 {
			t.Fatal(messages, err)
		}
		redacted := false
		for _, m := range messages {
			if strings.Contains(string(m.Content), canary) {
				t.Errorf("%s/%s says %s", m.Type, m.Subtype, m.Content)
			}
			redacted = redacted || m.Type == "user" && m.Content == nil
		}
		if !redacted {
			t.Errorf("the person's message is none that was redacted: %+v", messages)
		}
		if err := h.RebuildMessages(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		messages, _, err = h.MessageLog(t.Context(), ann, service.LogQuery{Conversation: conv})
		for _, m := range messages {
			if err != nil || strings.Contains(string(m.Content), canary) {
				t.Errorf("made again, %s/%s says %s, %v", m.Type, m.Subtype, m.Content, err)
			}
		}
	})
}

// hushed is a model behind a guardrail that takes back what the person said.
type hushed struct{ parrot }

func (hushed) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		_ = yield(model.Chunk{Kind: model.ChunkRedactInput, Text: "(hidden)"}, nil) &&
			yield(model.Chunk{Kind: model.ChunkText, Text: "no"}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopGuardrail}, nil)
	}
}
