package braid_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
)

func TestHooksAroundCompaction(t *testing.T) {
	t.Parallel()
	before := func(f func(*hook.BeforeCompaction) error) braid.Part {
		return braid.On(func(_ context.Context, e *hook.BeforeCompaction) error { return f(e) })
	}
	after := func(f func(*hook.AfterCompaction) error) braid.Part {
		return braid.On(func(_ context.Context, e *hook.AfterCompaction) error { return f(e) })
	}
	text := func(s string) []event.Block { return []event.Block{&event.Text{Text: s}} }
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		by   braid.Strategy
		hook braid.Part
		// overflow lets the provider refuse the conversation once.
		overflow bool
		// first is what the last request begins with, sums how often a summary was asked for.
		first string
		sums  int
		err   string
	}{
		{name: "only told", hook: before(func(e *hook.BeforeCompaction) error {
			if e.Why != event.WhyLimit || e.Agent != "a" || len(e.Messages) < 2 || e.Messages[0].Text() != "question 1" || e.Instructions == "" {
				return fmt.Errorf("told %+v", e)
			}
			return nil
		}), first: "[Summary of", sums: 1},
		{name: "a summary of its own", hook: before(func(e *hook.BeforeCompaction) error { e.Summary = text("mine"); return nil }), first: "mine"},
		{name: "other instructions", hook: before(func(e *hook.BeforeCompaction) error { e.Instructions += " In German."; return nil }), first: "[Summary of", sums: 1},
		{name: "cancelled", hook: before(func(e *hook.BeforeCompaction) error { e.Cancel = true; return nil }), first: "question 1"},
		{name: "cancelled though it is needed", overflow: true, hook: before(func(e *hook.BeforeCompaction) error { e.Cancel = true; return nil }), err: "does not fit"},
		{name: "fails before", hook: before(func(*hook.BeforeCompaction) error { return boom }), err: "boom"},
		{name: "panics before", hook: before(func(*hook.BeforeCompaction) error { panic("boom") }), err: "a hook panicked"},
		{name: "changed after", hook: after(func(e *hook.AfterCompaction) error {
			if e.Err != nil || e.Model == "" || e.Usage.Input != 500 || e.Why != event.WhyLimit {
				return fmt.Errorf("told %+v", e)
			}
			e.Summary = append(e.Summary, &event.Text{Text: "and more"})
			return nil
		}), first: "[Summary of the earlier part of this conversation, which is left out:]\nThey talked about numbers.\nand more", sums: 1},
		{name: "fails after", hook: after(func(*hook.AfterCompaction) error { return boom }), sums: 1, err: "boom"},
		{name: "panics after", hook: after(func(*hook.AfterCompaction) error { panic("boom") }), sums: 1, err: "a hook panicked"},
		{name: "a summary that is none", hook: before(func(e *hook.BeforeCompaction) error {
			e.Summary = []event.Block{&event.ToolCall{ID: "x"}}
			return nil
		}), err: "summary of something else"},
		{name: "changed after, where no model is asked", by: braid.SlidingWindow(6), hook: after(func(e *hook.AfterCompaction) error {
			if e.Model != "" {
				return errors.New("a model was asked")
			}
			e.Summary = text("gone")
			return nil
		}), first: "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tokens := func(n int) int64 {
				if n == 5 && !c.overflow {
					return 900
				}
				return 10
			}
			m := summariser(1000, tokens)
			plain := m.answer
			sums, asked := 0, 0
			m.answer = func(n int, req *model.Request) iter.Seq2[model.Chunk, error] {
				if isSummary(req) {
					sums++
					if c.name == "other instructions" && !strings.HasSuffix(req.Instructions, "In German.") {
						t.Error("the instructions are the old ones")
					}
				} else if asked++; asked == 7 && c.overflow {
					return failing(overflow)
				}
				return plain(n, req)
			}
			by := c.by
			if by == nil {
				by = braid.Summarize{Recent: 1}
			}
			talk := braid.New("a", m, braid.Manage(braid.Management{By: braid.KeepAll{}}))
			conv := chat(t, talk, 6)
			a := braid.New("a", m, braid.Manage(braid.Management{By: by}), c.hook)
			result, err := a.Run(t.Context(), "the last", braid.In(conv))
			if sums != c.sums {
				t.Errorf("a summary was asked for %d times", sums)
			}
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) && !errors.Is(err, event.ErrContextOverflow) || result.Status != event.RunFailed {
					t.Errorf("the run ends as %s: %v", result.Status, err)
				}
				// Nothing of it stands in the log, and the conversation goes on.
				if strings.Contains(compactions(logOfConversation(t, conv)), "-") {
					t.Error("it was compacted all the same")
				}
				if _, err := talk.Run(t.Context(), "again", braid.In(conv)); err != nil {
					t.Error(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := m.seen[len(m.seen)-1].Messages[0].Text(); !strings.HasPrefix(got, c.first) {
				t.Errorf("the model is shown %q, want %q", got, c.first)
			}
		})
	}
}

// Hooks after a compaction are called also where it is cancelled or fails, in reverse.
func TestHooksAfterACompactionThatCameToNothing(t *testing.T) {
	t.Parallel()
	var told []string
	note := func(name string) braid.Part {
		return braid.On(func(_ context.Context, e *hook.AfterCompaction) error {
			told = append(told, fmt.Sprint(name, " ", e.Scope, " ", e.Err))
			return nil
		})
	}
	m := &recorder{info: model.Info{ContextWindow: 1000}}
	m.answer = func(_ int, req *model.Request) iter.Seq2[model.Chunk, error] {
		if isSummary(req) {
			return failing(&event.Error{Kind: event.ErrModelAuth, Message: "no key"})
		}
		return chunks(counted("yes", 900))
	}
	a := braid.New("a", m, braid.Manage(braid.Management{By: braid.Summarize{Recent: 1}}), note("one"), note("two"))
	chat(t, a, 2)
	if got := strings.Join(told, ", "); got != "two  model_auth: no key, one  model_auth: no key" && !strings.Contains(got, "no key, one") {
		t.Errorf("told: %s", got)
	}
}
