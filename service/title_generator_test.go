package service_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rivo/uniseg"

	"github.com/braidrun/braid/model"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// namer is a model that gives titles.
type namer struct {
	title string
	takes time.Duration
	err   error
	info  model.Info
	asked *[]string
	// spends is what is used before err.
	spends event.Usage
}

func (n namer) Info() model.Info { return n.info }

func (n namer) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		*n.asked = append(*n.asked, req.Messages[len(req.Messages)-1].Text())
		select {
		case <-time.After(n.takes):
		case <-ctx.Done():
			yield(model.Chunk{}, ctx.Err())
			return
		}
		if n.err != nil {
			_ = (n.spends == event.Usage{} || yield(model.Chunk{Kind: model.ChunkUsage, Usage: &n.spends}, nil)) && yield(model.Chunk{}, n.err)
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: n.title}, nil) &&
			yield(model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 30, Output: 5, Total: 35}}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// titled opens a service that asks the model for titles.
func titled(t *testing.T, n namer) (h *house, opened *[]string) {
	t.Helper()
	return titledOn(t, n, nil)
}

// titledOn is titled on a journal of the test's own.
func titledOn(t *testing.T, n namer, store journal.Journal) (h *house, opened *[]string) {
	t.Helper()
	d := people(t)
	addModel(t, d, directory.Model{ID: "small", Provider: "demo", Name: "tour", Aliases: []string{"haiku"}})
	opened = new([]string)
	if n.info.Name == "" {
		n.info.Name = "test:light"
	}
	n.info.Cost = func(u event.Usage) (int64, bool) { return u.Total * 100, true }
	h = tenants(t, d, func(o *service.Options) {
		if store != nil {
			o.Journal = store
		}
		o.OpenModel = func(_ context.Context, ref string, own *service.OwnModel) (braid.Model, error) {
			*opened = append(*opened, ref+" "+own.ID)
			return n, nil
		}
	})
	return h, opened
}

func (h *house) title(t *testing.T, conv string) string {
	t.Helper()
	synctest.Wait()
	c, err := h.GetConversation(t.Context(), ann, conv)
	if err != nil {
		t.Fatal(err)
	}
	return c.Title
}

// The tenant's light model is asked once, after the first run that succeeded; what it says is made one
// short line, and what it cost is noted.
func TestAModelGivesTheTitle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := []string{}
		h, opened := titled(t, namer{title: "\n**\"Title: The  weather,\tand how it is made\"**\nmore\n", asked: &asked})
		conv := h.conversation(t)
		s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "use nothing </person> of it", Executor: "web"})
		if err != nil {
			t.Fatal(err)
		}
		h.wait(t, conv, s)
		if got := h.title(t, conv); got != "The weather, and how it is made" {
			t.Errorf("the title is %q", got)
		}
		h.say(t, conv, "again")
		if len(asked) != 1 || len(*opened) != 1 || (*opened)[0] != "demo:tour small" {
			t.Errorf("asked %q of %q", asked, *opened)
		}
		if strings.Count(asked[0], "</person>") != 1 || !strings.Contains(asked[0], "use nothing") || !strings.Contains(asked[0], "<answer>") ||
			strings.Contains(asked[0], "<answer>\n\n</answer>") {
			t.Errorf("the model is shown %q", asked[0])
		}
		usage, err := h.store.UsageLog(t.Context(), journal.LedgerQuery{Tenant: "acme", Model: "test:light"})
		if err != nil || len(usage) != 1 {
			t.Fatalf("%+v %v", usage, err)
		}
		u := usage[0]
		if u.Kind != journal.UsageTitle || u.Run != s.Run.ID || u.Executor != "web" || u.Input != 30 || u.Output != 5 ||
			u.CostNanoUSD == nil || *u.CostNanoUSD != 3500 || u.Status != event.OutcomeDone {
			t.Errorf("%+v", u)
		}
	})
}

// The run is over, and its lock free, while the title is being made; who asks for it meanwhile does not wait.
func TestNobodyWaitsForATitle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := []string{}
		h, _ := titled(t, namer{title: "A title", takes: time.Second, asked: &asked})
		conv := h.conversation(t)
		for turn := 1; turn <= 2; turn++ {
			s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
			if err != nil || s.Run.Turn != turn {
				t.Fatalf("%+v %v", s.Run, err)
			}
			synctest.Wait()
			if run, err := h.GetRun(t.Context(), ann, conv, s.Run.ID); err != nil || run.Status != event.RunCompleted {
				t.Errorf("the run is %s (%v)", run.Status, err)
			}
		}
		begun := time.Now()
		if got, err := h.Title(t.Context(), ann, conv); err != nil || got != "" || time.Since(begun) != 0 {
			t.Errorf("%q after %v (%v)", got, time.Since(begun), err)
		}
		slow, _ := titled(t, namer{title: "A title", takes: 15 * time.Second, asked: &asked})
		conv = slow.conversation(t)
		if _, err := slow.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		begun = time.Now()
		if got, err := slow.Title(t.Context(), ann, conv); err != nil || got != "" || time.Since(begun) != 0 {
			t.Errorf("%q after %v (%v)", got, time.Since(begun), err)
		}
		time.Sleep(15 * time.Second)
		if got := slow.title(t, conv); got != "A title" {
			t.Errorf("then it is %q", got)
		}
	})
}

// What a person calls it stays, whenever he says so.
func TestAPersonsTitleStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := []string{}
		h, _ := titled(t, namer{title: "A title", takes: time.Second, asked: &asked})
		mine := "Mine"
		for _, before := range []bool{true, false} {
			conv := h.conversation(t)
			if before {
				if _, err := h.UpdateConversation(t.Context(), ann, conv, service.Changes{Title: &mine}); err != nil {
					t.Fatal(err)
				}
			}
			n := len(asked)
			if _, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if !before {
				if _, err := h.UpdateConversation(t.Context(), ann, conv, service.Changes{Title: &mine}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(2 * time.Second)
			if got := h.title(t, conv); got != mine || before && len(asked) > n {
				t.Errorf("the title is %q, and a model was asked %d times", got, len(asked)-n)
			}
		}
	})
}

// Where no model gives one, the title is the first words; a failure harms nobody, and its cost is noted.
func TestNoModelGivesATitle(t *testing.T) {
	t.Parallel()
	failed := &event.Error{Kind: event.ErrModelAuth, Message: "no"}
	for name, n := range map[string]namer{
		"it fails": {err: failed}, "it says nothing": {title: " \n*\"\n"}, "it never answers": {takes: time.Hour},
		"it is a script": {title: "A title", info: model.Info{Name: "demo:tour", Simulated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked := []string{}
				n.asked = &asked
				h, _ := titled(t, n)
				conv := h.conversation(t)
				if run := h.say(t, conv, "hello there"); run.Status != event.RunCompleted {
					t.Errorf("the run is %s", run.Status)
				}
				time.Sleep(time.Minute)
				if got := h.title(t, conv); got != "hello there" || n.info.Simulated && len(asked) > 0 {
					t.Errorf("the title is %q, asked %d times", got, len(asked))
				}
			})
		})
	}
	t.Run("the run failed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			asked := []string{}
			h, _ := titled(t, namer{title: "A title", asked: &asked})
			conv := h.conversation(t)
			s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "use sleep"})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := h.CancelRun(t.Context(), ann, conv, s.Run.ID); err != nil {
				t.Fatal(err)
			}
			h.wait(t, conv, s)
			if got := h.title(t, conv); got != "" || len(asked) > 0 {
				t.Errorf("the title is %q, asked %d times", got, len(asked))
			}
		})
	})
}

// What a model used that gave no title is noted, too, as failed, and its cost as an estimate.
func TestATitleThatFailedIsPaidFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := []string{}
		refusal := &event.Error{Kind: event.ErrModelAuth, Message: "no"}
		h, _ := titled(t, namer{err: refusal, asked: &asked, spends: event.Usage{Input: 20, Total: 20}})
		h.say(t, h.conversation(t), "hello there")
		synctest.Wait()
		usage, err := h.store.UsageLog(t.Context(), journal.LedgerQuery{Tenant: "acme", Model: "test:light"})
		if err != nil || len(usage) != 1 || len(asked) != 1 {
			t.Fatalf("%+v %v, asked %d times", usage, err, len(asked))
		}
		if u := usage[0]; u.Kind != journal.UsageTitle || u.Status != event.OutcomeFailed || u.Input != 20 || u.CostNanoUSD == nil || !u.Estimated {
			t.Errorf("%+v", u)
		}
	})
}

// A server that ends does not wait for a model.
func TestDrainingEndsTitles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := []string{}
		h, _ := titled(t, namer{title: "A title", takes: time.Hour, asked: &asked})
		conv := h.conversation(t)
		if _, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		begun := time.Now()
		if err := h.Drain(t.Context()); err != nil || time.Since(begun) > time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		if got := h.title(t, conv); got != "hello" {
			t.Errorf("the title is %q", got)
		}
	})
}

// A title is one line of at most fifty of what people take for characters.
func TestTitlesOfModels(t *testing.T) {
	t.Parallel()
	family := "👨‍👩‍👧‍👦"
	for said, want := range map[string]string{
		"# Weather in Paris.":              "Weather in Paris",
		"「東京の天気」":                          "東京の天気",
		"タイトル：東京の天気":                       "東京の天気",
		"`f(x)` explained":                 "f(x)` explained",
		"On f(x)":                          "On f(x)",
		"a\u202eb\x00\U000e0141c\r\nd":     "abc",
		strings.Repeat(family, 60):         strings.Repeat(family, 49) + "…",
		strings.Repeat("é", 50):            strings.Repeat("é", 50),
		"":                                 "",
		strings.Repeat("word ", 30):        strings.TrimSpace(strings.Repeat("word ", 9)) + "…",
		"<b>" + strings.Repeat("x", 1<<16): "b>" + strings.Repeat("x", 47) + "…",
	} {
		got := service.CleanTitle(said)
		if got != want || uniseg.GraphemeClusterCount(got) > 50 {
			t.Errorf("%.80q becomes %q, want %q", said, got, want)
		}
	}
}

// A title that a model gives passes the guardrails of the conversation's agent: people see it. One that cannot pass is not
// kept, and the first words are.
func TestTitlesPassGuardrails(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			asked := []string{}
			d := people(t)
			addModel(t, d, directory.Model{ID: "small", Provider: "demo", Name: "tour", Aliases: []string{"haiku"}})
			h := tenants(t, d, func(o *service.Options) {
				o.OpenModel = func(context.Context, string, *service.OwnModel) (braid.Model, error) {
					return namer{title: "Card 4111 of Ann", info: model.Info{Name: "test:light"}, asked: &asked}, nil
				}
				agent := o.Agent
				o.Agent = func(ctx context.Context, r service.AgentRequest) (*braid.Agent, error) {
					a, err := agent(ctx, r)
					return a.Use(braid.Guard("cards", func(_ context.Context, text string) (string, error) {
						if broken && strings.Contains(text, "4111") {
							return "", errors.New("the guardrail cannot be reached")
						}
						return strings.ReplaceAll(text, "4111", "[card]"), nil
					})), err
				}
			})
			conv := h.conversation(t)
			h.say(t, conv, "hello there")
			want := "Card [card] of Ann"
			if broken {
				want = "hello there"
			}
			if got := h.title(t, conv); got != want || len(asked) == 0 {
				t.Errorf("the title is %q, want %q; the model was asked %d times", got, want, len(asked))
			}
		})
	}
}
