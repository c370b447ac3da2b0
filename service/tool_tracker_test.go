package service_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/tool"
)

// fickle is a model whose answers depend on what it is asked and on a seed: words, calls of
// tools and agents at once, failures, and all of that at a price that is not always known.
type fickle struct {
	name string
	seed uint64
	// calls are the tools that it may call.
	calls []string
	// asked counts, so that a failure does not come again for ever.
	asked *atomic.Int64
}

func (m *fickle) Info() model.Info {
	return model.Info{Name: m.name, Cost: func(u event.Usage) (int64, bool) { return u.Total * 3, m.seed%5 != 0 }}
}

func (m *fickle) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		h := fnv.New64a()
		fmt.Fprint(h, m.seed, m.name, req.Scope, req.Cycle)
		r := rand.New(rand.NewPCG(h.Sum64(), m.seed))
		usage := event.Usage{Input: 1 + r.Int64N(99), Output: r.Int64N(50), CacheRead: r.Int64N(9), CacheWrite: r.Int64N(9)}
		usage.Total = usage.Input + usage.Output + usage.CacheRead + usage.CacheWrite
		fails := m.asked.Add(1)%4 == 1 && r.IntN(3) == 0
		time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
		if ctx.Err() != nil {
			yield(model.Chunk{}, ctx.Err())
			return
		}
		if r.IntN(2) == 0 && !yield(model.Chunk{Kind: model.ChunkUsage, Usage: &usage}, nil) {
			return
		}
		if !yield(model.Chunk{Kind: model.ChunkText, Text: "well"}, nil) {
			return
		}
		if fails {
			yield(model.Chunk{}, &event.Error{Kind: event.ErrStreamCut, Message: "cut"})
			return
		}
		stop := event.StopEndTurn
		if n := r.IntN(4); n > 0 && req.Cycle < 4 && len(m.calls) > 0 {
			stop = event.StopToolUse
			for i := range n {
				if !yield(model.Chunk{Kind: model.ChunkCall, Index: i + 1, ID: fmt.Sprint("c", i), Text: m.calls[r.IntN(len(m.calls))]}, nil) ||
					!yield(model.Chunk{Kind: model.ChunkCallInput, Index: i + 1, Text: `{"input":"go"}`}, nil) {
					return
				}
			}
		}
		if !yield(model.Chunk{Kind: model.ChunkUsage, Usage: &usage}, nil) {
			return
		}
		yield(model.Chunk{Kind: model.ChunkStop, Stop: stop}, nil)
	}
}

// crew is a root agent with tools and agents that have agents of their own.
func crew(seed uint64) *braid.Agent {
	type in struct {
		Input string `json:"input"`
	}
	look := braid.Func("look", "Looks.", func(ctx context.Context, _ in) (string, error) {
		time.Sleep(time.Duration(seed%7) * time.Millisecond)
		return "seen", ctx.Err()
	}, tool.Pure())
	spoil := braid.Func("spoil", "Fails.", func(context.Context, in) (string, error) { return "", errors.New("no") })
	asked := new(atomic.Int64)
	model := func(name string, calls ...string) braid.Model { return &fickle{name, seed, calls, asked} }
	digger := braid.New("digger", model("small", "look"), braid.Tools(look))
	scout := braid.New("scout", model("small", "look", "digger", "spoil"), braid.Tools(look, spoil), braid.AsTool(digger, "digs"))
	writer := braid.New("writer", model("large", "spoil"), braid.Tools(spoil))
	return braid.New("root", model("large", "look", "scout", "writer", "spoil", "nobody"), braid.Tools(look, spoil),
		braid.AsTool(scout, "scouts"), braid.AsTool(writer, "writes"))
}

// brittle is a journal whose process dies at a commit, or does not hear what became of it: it is
// carried out, or not.
type brittle struct {
	*journal.Memory

	left         atomic.Int64
	stores, dies bool
}

func (b *brittle) dead() bool { return b.dies && b.left.Load() <= 0 }

func (b *brittle) Commit(ctx context.Context, l journal.Lease, batch journal.Batch) error {
	if b.dead() {
		return &event.Error{Kind: event.ErrLeaseLost, Message: "gone"}
	}
	if b.left.Add(-1) == 0 {
		if b.stores {
			_ = b.Memory.Commit(ctx, l, batch)
		}
		return &event.Error{Kind: event.ErrUnavailable, Message: "gone"}
	}
	return b.Memory.Commit(ctx, l, batch)
}

func (b *brittle) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	if b.dead() {
		return journal.News{}, &event.Error{Kind: event.ErrLeaseLost, Message: "gone"}
	}
	return b.Memory.Renew(ctx, l)
}

// The rows of a run are what its events say, whoever drove it and however often that went
// wrong: what the main agent and the others used is the run's sum, by model; no call is left
// running; each stands there once.
func TestRowsAreWhatTheRunSays(t *testing.T) {
	t.Parallel()
	var seen struct{ subs, nested, failed, crashed, parallel, cancelled int }
	for seed := range uint64(120) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			store := journal.NewMemory(journal.MemoryOptions{})
			ctx := t.Context()
			if _, err := store.Admit(ctx, journal.Run{ID: "run", Conversation: "talk", Tenant: "acme", Executor: "test", Input: []event.Message{
				{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "go"}}},
			}}); err != nil {
				t.Fatal(err)
			}
			agent := crew(seed)
			for round := 0; ; round++ {
				dies := &brittle{Memory: store}
				dies.left.Store(1 + r.Int64N(14))
				dies.stores, dies.dies = r.IntN(2) == 0, r.IntN(3) > 0
				if round > 5 {
					dies.left.Store(1 << 30)
				}
				if r.IntN(8) == 0 {
					if err := store.Post(ctx, journal.Mail{ID: fmt.Sprint(round), Run: "run", Kind: journal.MailCancel}); err == nil {
						seen.cancelled++
					}
				}
				conv := braid.Open(dies, "talk")
				conv.BeforeCommit(service.NewToolTracker(dies, func(agent, tool string) string { return agent + "/" + tool }).Fill)
				result, err := agent.Drive(ctx, conv, "run", braid.Work{})
				if errors.Is(err, event.ErrConflict) || err == nil && result.Status.Ended() {
					break // now, or in a commit whose answer was lost
				}
				if err != nil {
					seen.crashed++
				}
				if round > 50 {
					t.Fatalf("seed %d: the run does not end: %v", seed, err)
				}
				time.Sleep(time.Minute) // the lease runs out
			}
			log, err := store.Read(ctx, "talk", 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			usage, err := store.UsageLog(ctx, journal.LedgerQuery{Tenant: "acme"})
			if err != nil {
				t.Fatal(err)
			}
			tools, err := store.ToolLog(ctx, journal.LedgerQuery{Tenant: "acme"})
			if err != nil {
				t.Fatal(err)
			}
			ended := log[len(log)-1].Body.(*event.RunEnded)
			sums := map[string]journal.UsageSum{}
			for _, u := range usage {
				s := sums[u.Model]
				s.Tokens = s.Add(u.Tokens)
				if u.CostNanoUSD == nil {
					s.Unpriced++
				} else {
					s.KnownNanoUSD += *u.CostNanoUSD
				}
				sums[u.Model] = s
				if (u.Call == "") != (u.Scope == "") || (u.Call == "") != (u.Agent == "") {
					t.Errorf("seed %d: a row of neither the main agent nor a sub-agent: %+v", seed, u)
				}
				if u.Status != event.OutcomeDone {
					seen.failed++
				}
				if u.Agent == "digger" {
					seen.nested++
				}
				if u.Agent != "" {
					seen.subs++
				}
			}
			for _, m := range ended.Models {
				s := sums[m.Model]
				if s.Tokens != journal.TokensOf(m.Usage) || (s.CostNanoUSD() == nil) != (m.CostNanoUSD == nil) ||
					m.CostNanoUSD != nil && *m.CostNanoUSD != s.KnownNanoUSD {
					t.Errorf("seed %d: rows of %s sum to %+v, the run says %+v", seed, m.Model, s, m)
				}
				delete(sums, m.Model)
			}
			if len(sums) > 0 {
				t.Errorf("seed %d: the run says nothing of %v", seed, sums)
			}
			ends := map[string]*event.StepEnded{}
			open := 0
			for _, e := range log {
				if b, ok := e.Body.(*event.StepEnded); ok && b.Step == event.StepTool && b.Result != nil {
					ends[e.Step] = b
				}
				if _, ok := e.Body.(*event.ScopeOpened); ok {
					if open++; open > 1 {
						seen.parallel++
					}
				}
				if _, ok := e.Body.(*event.ScopeClosed); ok {
					open--
				}
			}
			if len(ends) != len(tools) {
				t.Errorf("seed %d: %d calls have %d rows", seed, len(ends), len(tools))
			}
			for _, row := range tools {
				end := ends[row.Step]
				if end == nil || !row.Status.Ended() || row.Finished.IsZero() || row.Call != end.Result.Call || row.Name != end.Result.Name ||
					row.IsError != end.Result.IsError || event.TextOf(row.Output) != event.TextOf(end.Result.Content) {
					t.Errorf("seed %d: a call ended as %+v, and its row is %+v", seed, end, row)
				}
				if string(row.Input) != `{"input":"go"}` || row.Asked == 0 || row.End == 0 {
					t.Errorf("seed %d: the row does not know what was asked: %+v", seed, row)
				}
				if (row.Parent == "") != (row.Scope == "") || !strings.HasSuffix(row.Source, "/"+row.Name) {
					t.Errorf("seed %d: the row of neither the main agent nor a sub-agent: %+v", seed, row)
				}
			}
		})
	}
	for what, n := range map[string]int{
		"sub-agents": seen.subs, "nested": seen.nested, "failed": seen.failed, "crashes": seen.crashed, "parallel": seen.parallel,
		"cancelled": seen.cancelled,
	} {
		if n < 20 {
			t.Errorf("%s were seen %d times: the runs do not reach it", what, n)
		}
	}
	t.Logf("%+v", seen)
}

// One agent is asked twice at once, and one of the two answers asks for tools that have the same
// ids as the main agent's: each row stands with its own parent.
func TestSubagentsAtOnceAreToldApart(t *testing.T) {
	t.Parallel()
	var got []string
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			store := &journal.Memory{}
			if _, err := store.Admit(t.Context(), journal.Run{ID: "run", Conversation: "talk", Input: []event.Message{
				{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "go"}}},
			}}); err != nil {
				t.Fatal(err)
			}
			conv := braid.Open(store, "talk")
			conv.BeforeCommit(service.NewToolTracker(store, nil).Fill)
			if _, err := crew(seed).Drive(t.Context(), conv, "run", braid.Work{}); err != nil {
				t.Fatal(err)
			}
			tools, err := store.ToolLog(t.Context(), journal.LedgerQuery{})
			if err != nil {
				t.Fatal(err)
			}
			steps := map[string]journal.ToolEntry{}
			for _, row := range tools {
				steps[row.Step] = row
			}
			for _, row := range tools {
				parent, there := steps[row.Scope]
				if row.Scope != "" && (!there || parent.Call != row.Parent || parent.Name != row.Agent) {
					t.Errorf("seed %d: %+v is not of %+v", seed, row, parent)
				}
				got = append(got, row.Agent)
			}
		})
	}
	for _, agent := range []string{"", "scout", "digger", "writer"} {
		if !slices.Contains(got, agent) {
			t.Errorf("no tool was called by %q", agent)
		}
	}
}
