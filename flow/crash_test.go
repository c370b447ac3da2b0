package flow

import (
	"context"
	"slices"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/decide/decidetest"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// commits is a store that notes how long the log was after each commit.
type commits struct {
	*journal.Memory

	log  []*event.Event
	ends []int
}

func (c *commits) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	err := c.Memory.Commit(ctx, l, b)
	if err == nil && len(b.Events) > 0 {
		c.log = append(c.log, b.Events...)
		c.ends = append(c.ends, len(c.log))
	}
	return err
}

// cut is a conversation whose driver died after n events of its first run.
func cut(t *testing.T, log []*event.Event, n int, agent string) *braid.Conversation {
	t.Helper()
	conv, err := cutInto(&commits{Memory: journal.NewMemory(journal.MemoryOptions{})}, log, n, agent)
	if err != nil {
		t.Fatal(err)
	}
	return conv
}

// cutInto is cut with a store, which then notes the events after the first n.
func cutInto(store *commits, log []*event.Event, n int, agent string) (*braid.Conversation, error) {
	run := journal.Run{
		ID: log[0].Run, Conversation: log[0].Conversation, Agent: agent,
		Input: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "go"}}}},
	}
	if _, err := store.Admit(context.Background(), run); err != nil {
		return nil, err
	}
	opened, err := store.Acquire(context.Background(), run.ID, 0)
	if err != nil {
		return nil, err
	}
	if err := store.Memory.Commit(context.Background(), opened.Lease, journal.Batch{Events: log[:n], Release: true}); err != nil {
		return nil, err
	}
	return braid.Open(store, run.Conversation), nil
}

// opened lists the scopes of a log: their ids, agents and ends.
func opened(t *testing.T, conv *braid.Conversation) (list []string) {
	t.Helper()
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *event.ScopeOpened:
			list = append(list, b.ID+" "+b.Agent+" "+event.TextOf(b.Input))
		case *event.ScopeClosed:
			list = append(list, b.ID+" "+string(b.Why)+" "+event.TextOf(b.Output))
		}
	}
	return list
}

// Wherever a driver dies, the next one goes on with the same scopes to the same end. It can die after each commit; of sequences the
// test cuts the log after each event.
func TestAFlowGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	boss := func() *braid.Agent {
		return braid.New("boss", &echo{name: "boss", tool: "report"}, braid.AsTool(report(), "Reports."))
	}
	for name, made := range map[string]func() *braid.Agent{"report": report, "boss": boss, "all": several} {
		store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
		conv := braid.Open(store, "c")
		want, err := made().Run(t.Context(), "go", braid.In(conv))
		if err != nil {
			t.Fatal(err)
		}
		scopes := opened(t, conv)
		if len(store.ends) < 8 {
			t.Errorf("%s: only %d commits", name, len(store.ends))
		}
		for n := 1; n < len(store.log); n++ {
			if name == "all" && !slices.Contains(store.ends, n) {
				continue // it opens several scopes in one commit
			}
			conv := cut(t, store.log, n, name)
			got, err := made().Resume(t.Context(), conv)
			if err != nil || got.Text() != want.Text() || got.Why != want.Why || got.Stop != want.Stop {
				t.Errorf("%s, cut after event %d: %q, %s, %v", name, n, got.Text(), got.Why, err)
				continue
			}
			again := opened(t, conv)
			if name == "all" { // what runs side by side ends in any order
				slices.Sort(again)
				slices.Sort(scopes)
			}
			if !slices.Equal(again, scopes) {
				t.Errorf("%s, cut after event %d: the scopes are\n%q, want\n%q", name, n, again, scopes)
			}
			// What a model or a tool did is done again only where it was in flight.
			if calls := got.Metrics.ModelCalls; calls > want.Metrics.ModelCalls+3 || calls < want.Metrics.ModelCalls {
				t.Errorf("%s, cut after event %d: %d model calls, want %d", name, n, calls, want.Metrics.ModelCalls)
			}
		}
	}
}

func several() *braid.Agent { return braid.NewFlow("all", all{}, agent("x"), report(), agent("z")) }

// One log of flows gives one command, whoever folds it.
func TestOneLogOfFlowsGivesOneCommand(t *testing.T) {
	t.Parallel()
	kinds := map[string]decide.Flow{
		"all":    {Kind: all{}, Agents: []string{"x", "report", "z"}},
		"report": {Kind: sequence{"a", "b", "inner"}, Agents: []string{"a", "b", "inner"}},
		"inner":  {Kind: sequence{"d", "c", "d"}, Agents: []string{"d", "c"}},
	}
	store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
	if _, err := several().Run(t.Context(), "go", braid.In(braid.Open(store, "c"))); err != nil {
		t.Fatal(err)
	}
	opens := 0
	err := decidetest.OneCommand(store.log, func(v *fold.Conversation, s *fold.Scope) (decide.Kind, *decide.Policy) {
		p := decidetest.Policy(decide.Limits{})
		if f, ok := kinds[s.Agent]; ok {
			if decide.Next(f, s, p, v.Run.At).Do == decide.Open {
				opens++
			}
			return f, p
		}
		return decide.LLM{}, p
	}, nil)
	if err != nil || opens == 0 {
		t.Errorf("%d opened: %v", opens, err)
	}
}
