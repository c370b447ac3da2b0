package service_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// biller is a model that answers with text and usage, or with an error after them.
type biller struct {
	text  string
	usage event.Usage
	err   error
	info  model.Info
	// tool is called in the first answer.
	tool string
}

func (b biller) Info() model.Info {
	b.info.Name = "test:biller"
	return b.info
}

func (b biller) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if b.text != "" && !yield(model.Chunk{Kind: model.ChunkText, Text: b.text}, nil) {
			return
		}
		stop := event.StopEndTurn
		args := `{}`
		if b.tool == "sub" {
			args = `{"input":"work"}`
		}
		if b.tool != "" && len(req.Messages) == 1 {
			stop = event.StopToolUse
			if !yield(model.Chunk{Kind: model.ChunkCall, Index: 1, ID: "c1", Text: b.tool}, nil) ||
				!yield(model.Chunk{Kind: model.ChunkCallInput, Index: 1, Text: args}, nil) {
				return
			}
		}
		if b.usage != (event.Usage{}) && !yield(model.Chunk{Kind: model.ChunkUsage, Usage: &b.usage}, nil) {
			return
		}
		if b.err != nil {
			yield(model.Chunk{}, b.err)
			return
		}
		yield(model.Chunk{Kind: model.ChunkStop, Stop: stop}, nil)
	}
}

// billed opens a service whose agent asks the model.
func billed(t *testing.T, b biller, parts ...braid.Part) (*house, *directory.Directory) {
	t.Helper()
	d := people(t)
	return tenants(t, d, func(o *service.Options) {
		o.Agent = func(context.Context, service.AgentRequest) (*braid.Agent, error) {
			return braid.New("assistant", b, append(parts, braid.Retries(braid.Retry{Attempts: 3}), braid.Options(model.Options{MaxTokens: 100}))...), nil
		}
	}), d
}

// run has a run answered.
func (h *house) run(t *testing.T, conv string) *event.RunEnded {
	t.Helper()
	s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	return h.wait(t, conv, s)
}

func (h *house) use(t *testing.T) directory.Use {
	t.Helper()
	u, err := h.Use(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// What a call counts for the day, however it ends.
func TestWhatACallCounts(t *testing.T) {
	t.Parallel()
	priced := model.Info{Cost: func(u event.Usage) (int64, bool) { return u.Total * 1000, true }}
	hundred, words := event.Usage{Input: 60, Output: 40, Total: 100}, strings.Repeat("word ", 80)
	for name, c := range map[string]struct {
		model biller
		parts []braid.Part
		// least and most are tokens.
		least, most int64
	}{
		"what the model reports":         {model: biller{text: "hi", usage: hundred, info: priced}, least: 100, most: 100},
		"of an unknown price":            {model: biller{text: "hi", usage: hundred}, least: 100, most: 100},
		"what was read from caches":      {model: biller{text: "hi", usage: event.Usage{Input: 5, CacheRead: 20, CacheWrite: 30, Output: 1}, info: priced}, least: 56, most: 56},
		"nothing reported":               {model: biller{text: words, info: priced}, least: 101, most: 120},
		"cut before anything":            {model: biller{err: &event.Error{Kind: event.ErrTimeout}, info: priced}, least: 1, most: 20},
		"cut after some words":           {model: biller{text: words, err: event.ErrInternal, info: priced}, least: 101, most: 120},
		"refused by the provider":        {model: biller{err: &event.Error{Kind: event.ErrModelAuth}, info: priced}},
		"less than nothing":              {model: biller{text: "hi", usage: event.Usage{Input: -60, Output: -40}, info: model.Info{Simulated: true}}},
		"simulated, and reports nothing": {model: biller{text: words, info: model.Info{Simulated: true}}},
		"with a tool":                    {model: biller{usage: hundred, tool: "clock"}, parts: []braid.Part{braid.Func("clock", "", func(context.Context, struct{}) (string, error) { return "noon", nil })}, least: 200, most: 200},
		"with an agent below it":         {model: biller{usage: hundred, tool: "sub"}, parts: []braid.Part{braid.AsTool(braid.New("sub", biller{usage: hundred}), "Works.")}, least: 300, most: 300},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, d := billed(t, c.model, c.parts...)
				setTenant(t, d, func(of *directory.Tenant) {
					of.Quota = directory.Quota{Tokens: new(int64(100_000)), Cost: new(pricing.NanoUSD(1e9))}
				})
				end := h.run(t, h.conversation(t))
				u := h.use(t)
				if u.Tokens < c.least || u.Tokens > c.most {
					t.Errorf("%d tokens are counted, want %d to %d: the run %s, %v", u.Tokens, c.least, c.most, end.Status, end.Err)
				}
				if want := pricing.NanoUSD(u.Tokens * 1000); c.model.info.Cost != nil && u.Cost != want || c.model.info.Cost == nil && u.Cost != 0 {
					t.Errorf("they cost %v, want %v", u.Cost, want)
				}
			})
		})
	}
}

// A run that meets the bound ends with an error of its own, at once; the next is refused until midnight in UTC.
func TestADayEndsAtMidnight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(20 * time.Hour) // the clock begins at midnight
		h, d := billed(t, biller{text: "hi", usage: event.Usage{Input: 60, Output: 90, Total: 150}, tool: "clock"},
			braid.Func("clock", "", func(context.Context, struct{}) (string, error) { return "noon", nil }))
		setTenant(t, d, func(of *directory.Tenant) { of.Quota.Tokens = new(int64(450)) })
		conv := h.conversation(t)
		key := service.RunRequest{Input: "hello", Key: "once"}
		first, err := h.StartRun(t.Context(), ann, conv, key)
		if err != nil {
			t.Fatal(err)
		}
		if end := h.wait(t, conv, first); end.Status != event.RunCompleted {
			t.Fatalf("the first run %s: %v", end.Status, end.Err)
		}
		begun := time.Now()
		end := h.run(t, h.conversation(t)) // one of its two calls fits
		if e := end.Err; end.Status != event.RunFailed || e == nil || e.Kind != event.ErrQuota || e.Code != "QUOTA_TOKENS" || !untilMidnight(e.RetryAfter) {
			t.Errorf("the run %s: %+v", end.Status, e)
		}
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("it has waited for %v", waited)
		}
		_, err = h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
		if e, _ := errors.AsType[*event.Error](err); e == nil || e.Kind != event.ErrQuota || !untilMidnight(e.RetryAfter) {
			t.Errorf("another run: %v", err)
		}
		again, err := h.StartRun(t.Context(), ann, conv, key)
		if err != nil || again.Run.ID != first.Run.ID {
			t.Errorf("a request that was repeated: %+v, %v", again.Run, err)
		}
		time.Sleep(4 * time.Hour)
		if u := h.use(t); u.Tokens != 0 {
			t.Errorf("%d tokens are counted on the next day", u.Tokens)
		}
		if end := h.run(t, h.conversation(t)); end.Status != event.RunCompleted {
			t.Errorf("on the next day the run %s: %v", end.Status, end.Err)
		}
	})
}

// untilMidnight reports whether it is as long until midnight, in a test that has begun four hours before it.
func untilMidnight(after time.Duration) bool {
	return after <= 4*time.Hour && after > 4*time.Hour-time.Minute
}

// A title counts, and where nothing is left the first words are the title.
func TestTitlesCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most  int64
		title string
	}{"enough": {100_000, "A fine title"}, "nothing left": {160, "hello"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := people(t)
				setTenant(t, d, func(of *directory.Tenant) { of.Quota.Tokens = new(c.most) })
				addModel(t, d, directory.Model{ID: "small", Provider: "demo", Name: "tour", Aliases: []string{"haiku"}})
				h := tenants(t, d, func(o *service.Options) {
					o.Agent = func(context.Context, service.AgentRequest) (*braid.Agent, error) {
						return braid.New("assistant", biller{text: "hi", usage: event.Usage{Input: 50, Output: 60, Total: 110}},
							braid.Options(model.Options{MaxTokens: 100})), nil
					}
					o.OpenModel = func(context.Context, string, *service.OwnModel) (braid.Model, error) {
						return biller{text: "A fine title", usage: event.Usage{Input: 30, Output: 5, Total: 35}}, nil
					}
				})
				conv := h.conversation(t)
				h.run(t, conv)
				if got := h.title(t, conv); got != c.title {
					t.Errorf("the title is %q, want %q", got, c.title)
				}
				want := int64(110)
				if c.most > 1000 {
					want += 35
				}
				if u := h.use(t); u.Tokens != want {
					t.Errorf("%d tokens are counted, want %d", u.Tokens, want)
				}
			})
		})
	}
}
