package service_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/task"
	"github.com/braidrun/braid/wire/native"
	"github.com/braidrun/braid/wire/story"
)

// tasked is a model that calls agents by the Task tool, as its seed says: some types and aliases are unknown, some calls fail
// and are made again, some fail for good.
type tasked struct {
	name string
	seed uint64
	// types are those that it may name.
	types []string
	asked *atomic.Int64
}

func (m *tasked) Info() model.Info {
	return model.Info{Name: m.name, Cost: func(u event.Usage) (int64, bool) {
		return u.Total*int64(len(m.name)) + 1, m.seed%7 != 0 || m.name != "large"
	}}
}

func (m *tasked) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		h := fnv.New64a()
		fmt.Fprint(h, m.seed, m.name, req.Scope, req.Cycle)
		r := rand.New(rand.NewPCG(h.Sum64(), m.seed))
		usage := event.Usage{Input: 1 + r.Int64N(1e6), Output: r.Int64N(1e5), CacheRead: r.Int64N(1e6), CacheWrite: r.Int64N(1e4)}
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
			kind := event.ErrStreamCut
			if r.IntN(3) == 0 {
				kind = event.ErrModelAuth // it is not made again
			}
			yield(model.Chunk{}, &event.Error{Kind: kind, Message: "cut"})
			return
		}
		stop := event.StopEndTurn
		if n := r.IntN(4); n > 0 && req.Cycle < 4 && len(m.types) > 0 {
			stop = event.StopToolUse
			for i := range n {
				args := fmt.Sprintf(`{"description":"d","prompt":"go","subagent_type":%q,"model":%q,"run_in_background":%v}`,
					m.types[r.IntN(len(m.types))], []string{"", "", "haiku", "opus", "unknown"}[r.IntN(5)], r.IntN(3) == 0)
				if !yield(model.Chunk{Kind: model.ChunkCall, Index: i + 1, ID: fmt.Sprint("c", i), Text: task.Name}, nil) ||
					!yield(model.Chunk{Kind: model.ChunkCallInput, Index: i + 1, Text: args}, nil) {
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

// taskCrew is a root agent with three levels of agents below it. Some of them have the same model.
func taskCrew(seed uint64) *braid.Agent {
	asked := new(atomic.Int64)
	opens := func(name string, types ...string) braid.Model { return &tasked{name, seed, types, asked} }
	// A chosen model calls no further agents: it is of any type.
	options := task.Options{Models: task.Aliases(map[string]braid.Model{"haiku": opens("small"), "opus": opens("large", "digger", "scout", "nobody")})}
	digger := braid.New("digger", opens("small"))
	scout := braid.New("scout", opens("middle", "digger", "nobody"), braid.Tools(task.New(options, task.Type{Agent: digger, Background: task.AwaitBackground})))
	writer := braid.New("writer", opens("large"))
	return braid.New("root", opens("large", "scout", "scout", "writer", "nobody"),
		braid.Tools(task.New(options, task.Type{Agent: scout, Background: task.AwaitBackground}, task.Type{Agent: writer, Background: task.StopBackground})))
}

// spent is what a scope used of a model, or all of them did.
type spent struct {
	journal.Tokens

	nano    int64
	unknown bool
}

func (s spent) plus(t journal.Tokens, nano *int64) spent {
	s.Tokens = s.Add(t)
	if nano == nil {
		s.unknown = true
	} else {
		s.nano += *nano
	}
	return s
}

// tokensOf are the tokens of a usage on the wire.
func tokensOf(u *native.Usage) journal.Tokens {
	return journal.Tokens{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens}
}

// nanos are the nano-dollars of an amount on the wire.
func nanos(dollars *float64) *int64 {
	if dollars == nil {
		return nil
	}
	n := int64(math.Round(*dollars * 1e9))
	return &n
}

// byModel sums rows of the wire by model.
func byModel(sums map[string]spent, rows []native.ModelUsage) {
	for i := range rows {
		sums[rows[i].Model] = sums[rows[i].Model].plus(tokensOf(&rows[i].Usage), nanos(rows[i].TotalCostUSD))
	}
}

// What the main agent and its sub-agents used is the run's total, for each model to the token and the nano-dollar: in the rows of
// the usage log, in the log's last event and in the result frame. The trees are random, with calls that fail and are made again,
// agents in the background and that fail, unknown types and models, cancelled runs and lost drivers.
func TestUsageOfTasksAddsUp(t *testing.T) {
	t.Parallel()
	var seen struct{ subs, nested, chosen, behind, failed, retried, crashed, cancelled, unpriced int }
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			store, log, cancelled, crashed := playTasks(t, seed)
			seen.cancelled += cancelled
			seen.crashed += crashed
			ended, ok := log[len(log)-1].Body.(*event.RunEnded)
			if !ok {
				t.Fatalf("seed %d: the log ends with %T", seed, log[len(log)-1].Body)
			}
			rows, err := store.UsageLog(t.Context(), journal.LedgerQuery{Tenant: "acme"})
			if err != nil {
				t.Fatal(err)
			}
			// The rows by scope and model, and by model.
			type key struct{ scope, call, agent, model string }
			logged, total := map[key]spent{}, map[string]spent{}
			for _, u := range rows {
				k := key{u.Scope, u.Call, u.Agent, u.Model}
				logged[k], total[u.Model] = logged[k].plus(u.Tokens, u.CostNanoUSD), total[u.Model].plus(u.Tokens, u.CostNanoUSD)
				if u.Status != event.OutcomeDone {
					seen.failed++
				}
				if u.Attempt > 1 {
					seen.retried++
				}
				if u.CostNanoUSD == nil {
					seen.unpriced++
				}
			}
			run := map[string]spent{}
			for _, m := range ended.Models {
				run[m.Model] = run[m.Model].plus(journal.TokensOf(m.Usage), m.CostNanoUSD)
			}
			options := cmp.AllowUnexported(spent{})
			if diff := cmp.Diff(run, total, options); diff != "" {
				t.Errorf("seed %d: the rows are not the run's total (-run +rows):\n%s", seed, diff)
			}
			for _, e := range log {
				if b, ok := e.Body.(*event.ScopeOpened); ok {
					seen.subs++
					seen.nested += b.Depth - 1
					if b.Asked != "" {
						seen.chosen++
					}
					if b.Background {
						seen.behind++
					}
				}
			}
			if ended.Agents == nil {
				return // no agent worked
			}
			split := map[key]spent{}
			for i := range ended.Agents {
				a := &ended.Agents[i]
				agent := a.Agent
				if a.Scope == "" {
					agent = "" // as the rows have it
				}
				for _, m := range a.Models {
					k := key{a.Scope, a.Call, agent, m.Model}
					split[k] = split[k].plus(journal.TokensOf(m.Usage), m.CostNanoUSD)
				}
			}
			if diff := cmp.Diff(split, logged, options, cmp.AllowUnexported(key{})); diff != "" {
				t.Errorf("seed %d: the rows are not the agents' (-agents +rows):\n%s", seed, diff)
			}
			checkFrames(t, seed, log, run)
		})
	}
	for what, n := range map[string]int{
		"sub-agents": seen.subs, "nested": seen.nested, "chosen models": seen.chosen, "in the background": seen.behind, "failed calls": seen.failed, "retries": seen.retried,
		"crashes": seen.crashed, "cancelled runs": seen.cancelled, "unpriced calls": seen.unpriced,
	} {
		if n < 20 {
			t.Errorf("%s were seen %d times: the trees do not reach it", what, n)
		}
	}
	t.Logf("%+v", seen)
}

// playTasks drives a run of a random tree to its end.
func playTasks(t *testing.T, seed uint64) (store *journal.Memory, log []*event.Event, cancelled, crashed int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	store = journal.NewMemory(journal.MemoryOptions{})
	ctx := t.Context()
	if _, err := store.Admit(ctx, journal.Run{ID: "run", Conversation: "talk", Tenant: "acme", Input: []event.Message{
		{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "go"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	agent := taskCrew(seed)
	for round := 0; ; round++ {
		dies := &brittle{Memory: store}
		dies.left.Store(1 + r.Int64N(30))
		dies.stores, dies.dies = r.IntN(2) == 0, r.IntN(3) > 0
		if round > 3 {
			dies.left.Store(1 << 30)
		}
		if wait := time.Duration(r.Int64N(200)) * time.Millisecond; round == 0 && seed%3 == 0 {
			go func() {
				time.Sleep(wait)
				_ = store.Post(ctx, journal.Mail{ID: fmt.Sprint(round), Run: "run", Kind: journal.MailCancel})
			}()
		}
		conv := braid.Open(dies, "talk")
		conv.BeforeCommit(service.NewToolTracker(dies, nil).Fill)
		result, err := agent.Drive(ctx, conv, "run", braid.Work{})
		if errors.Is(err, event.ErrConflict) || err == nil && result.Status.Ended() {
			break
		}
		if err != nil {
			crashed++
		}
		if round > 50 {
			t.Fatalf("seed %d: the run does not end: %v", seed, err)
		}
		time.Sleep(time.Minute) // the lease runs out
	}
	time.Sleep(time.Minute)
	log, err := store.Read(ctx, "talk", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if log[len(log)-1].Body.(*event.RunEnded).Status == event.RunCancelled {
		cancelled = 1
	}
	return store, log, cancelled, crashed
}

// checkFrames compares the frames of a run with what it used by model: main and subagents of the terminal frame add up to it, and
// each subagent_end has what the terminal frame has of that agent.
func checkFrames(t *testing.T, seed uint64, log []*event.Event, run map[string]spent) {
	t.Helper()
	var tells story.Story
	enc := native.NewEncoder("talk")
	var ends []native.Spending
	var last *native.End
	for _, e := range log {
		it := tells.Add(e)
		if it == nil {
			continue
		}
		for _, f := range enc.Frames(it) {
			switch f := f.(type) {
			case *native.SubagentEnd:
				ends = append(ends, f.Spending)
			case *native.Result:
				last = &f.End
			case *native.Error:
				last = f.Run
			}
		}
	}
	if last == nil || last.Main == nil || len(last.Subagents) != len(ends) {
		t.Fatalf("seed %d: %d agents ended, and the terminal frame is %+v", seed, len(ends), last)
	}
	total := map[string]spent{}
	byModel(total, last.ModelUsage)
	sums := map[string]spent{}
	byModel(sums, last.Main.ModelUsage)
	for i := range last.Subagents {
		byModel(sums, last.Subagents[i].ModelUsage)
	}
	options := cmp.AllowUnexported(spent{})
	if diff := cmp.Diff(run, total, options); diff != "" {
		t.Errorf("seed %d: the terminal frame is not the run's total (-run +frame):\n%s", seed, diff)
	}
	if diff := cmp.Diff(run, sums, options); diff != "" {
		t.Errorf("seed %d: main and subagents are not the total (-run +sum):\n%s", seed, diff)
	}
	var all, parts spent
	all = all.plus(tokensOf(&last.Usage), nanos(last.TotalCostUSD))
	parts = parts.plus(tokensOf(&last.Main.Usage), nanos(last.Main.TotalCostUSD))
	var ended, listed []native.Spending
	for i := range last.Subagents {
		parts = parts.plus(tokensOf(&last.Subagents[i].Usage), nanos(last.Subagents[i].TotalCostUSD))
		listed = append(listed, last.Subagents[i].Spending)
	}
	if all.Tokens != parts.Tokens || all.unknown != parts.unknown || !all.unknown && all.nano != parts.nano {
		t.Errorf("seed %d: the agents used %+v, and the run %+v", seed, parts, all)
	}
	// They end in another order than they begin.
	ended = append(ended, ends...)
	for _, one := range listed {
		found := false
		for i := range ended {
			if cmp.Equal(ended[i], one) {
				ended, found = append(ended[:i], ended[i+1:]...), true
				break
			}
		}
		if !found {
			t.Errorf("seed %d: no subagent_end has %+v", seed, one)
		}
	}
}
